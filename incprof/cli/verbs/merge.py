"""Join run directories into one: those of nodes that wrote to disks of their own.

    incprof merge run node-1/run node-2/run
    incprof phases run

The directories stay as they are. Files are linked where that is possible, else copied.
"""

from __future__ import annotations

import argparse

from incprof.command.terminal import warn
from incprof.study.run_directories import merge

NAME = "merge"
MOST_SPANS = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("out", metavar="OUT", help="the new run directory; it must not exist")
    parser.add_argument("directories", nargs="+", metavar="DIR", help="run directories of one launch")
    parser.add_argument(
        "--renumber", action="store_true", help="number all ranks anew, from 0; DIRs may be of different launches"
    )


def run(args: argparse.Namespace) -> int:
    """Join the directories, and describe the result."""
    from incprof.report.words.ranks import ranges

    merged = merge(args.out, args.directories, renumber=args.renumber)
    if merged.missing:
        warn([f"{args.out}: no directory holds these ranks of the launch: {ranges(merged.missing, MOST_SPANS)}"])
    if merged.traces:
        warn([f"{args.out}: leaves out traces of MPI calls, which contain the old numbers of ranks"])
    ranks = f"{len(merged.ranks)} rank{'s' * (len(merged.ranks) != 1)}"
    processes = f"{merged.processes} process{'es' * (merged.processes != 1)}"
    print(f"{args.out}: {ranks}, {processes}; next: incprof phases {args.out}")
    return 0
