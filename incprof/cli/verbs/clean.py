"""Remove from run directories what can be made again: kept answers, and copies of symbols.

    incprof clean --dry-run gmon-app
    incprof clean gmon-app

Symbols are removed of programs and libraries that are still where they were recorded, unchanged: a run that is to be
read on another machine, or after they are built again, needs them. Recorded samples are never touched.
"""

from __future__ import annotations

import argparse

from incprof.command.terminal import warn

NAME = "clean"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("directories", nargs="+", metavar="DIR", help="run directory")
    parser.add_argument("--dry-run", action="store_true", help="remove nothing, and print what would be removed")


def run(args: argparse.Namespace) -> int:
    """Clean each directory, and print how many bytes were freed."""
    from incprof.report.words.formatting import count, decimal_size
    from incprof.study.run_directories import clean

    failed = False
    for directory in args.directories:
        done = clean(directory, dry_run=args.dry_run)
        verb = "would remove" if args.dry_run else "removed"
        copies = f", with symbols of {count(done.copies, 'module')}" if done.copies else ""
        print(f"{directory}: {verb} {decimal_size(done.size)} in {count(done.files, 'file')}{copies}")
        warn(f"{path}: cannot be removed" for path in done.failed)
        failed = failed or bool(done.failed)
    return int(failed)
