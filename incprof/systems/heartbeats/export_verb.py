"""Files written by `incprof heartbeats`: tables for other tools."""

from __future__ import annotations

import argparse
import importlib.util
from typing import TYPE_CHECKING

from incprof.command.output import check_target, write_bytes, write_text
from incprof.errors import IncprofError, UsageError

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats

FORMS = ("csv", "parquet", "sqlite")


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for output files."""
    parser.add_argument("--csv", metavar="FILE", help="write the rows as CSV; - is stdout")
    parser.add_argument("--parquet", metavar="FILE", help="write the rows as Parquet (needs pyarrow)")
    parser.add_argument("--sqlite", metavar="FILE", help="write rows, intervals, beats and processes as SQLite tables")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def check_files(args: argparse.Namespace) -> bool:
    """Refuse files that cannot be written, before anything is read; return whether one of them is stdout.

    Raises:
        UsageError: a target is invalid, or stdout would receive two outputs.
        IncprofError: pyarrow is not installed.
    """
    targets = {form: getattr(args, form) for form in FORMS if getattr(args, form) is not None}
    for form, target in targets.items():
        check_target(target, force=args.force, binary=form != "csv")
    if len(files := [target for target in targets.values() if target != "-"]) > len(set(files)):
        raise UsageError("two of --csv, --parquet and --sqlite name the same file")
    on_stdout = [f"--{form} -" for form, target in targets.items() if target == "-"]
    on_stdout += ["--json"] if args.json and on_stdout else []
    if len(on_stdout) > 1:
        raise UsageError(f"{' and '.join(on_stdout)} would both go to stdout: give a file to one of them")
    if args.parquet is not None and importlib.util.find_spec("pyarrow") is None:
        raise IncprofError("--parquet needs pyarrow: pip install pyarrow, or take --csv or --sqlite")
    return bool(on_stdout)


def write_files(found: Heartbeats, args: argparse.Namespace) -> None:
    """Write the requested files."""
    from incprof.systems.heartbeats.heartbeats_csv import write_csv, write_parquet, write_sqlite

    if args.csv is not None:
        write_text(args.csv, lambda out: write_csv(found.to_pandas(), out))
    if args.parquet is not None:
        write_bytes(args.parquet, lambda out: write_parquet(found.to_pandas(), out))
    if args.sqlite is not None:
        write_bytes(args.sqlite, lambda out: write_sqlite(found.tables(), out))
