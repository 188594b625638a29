"""`incprof heartbeats A B`: the heartbeats of B against those of A, and the conditions that must hold."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from incprof.commands._beats import load, matches, run_of, summaries
from incprof.commands._common import warn
from incprof.errors import GateError, PartialDataError, UsageError

if TYPE_CHECKING:
    from incprof.analysis.beats.match import Pair


SINGLE = ("csv", "parquet", "sqlite", "plot", "history", "keep")


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of a comparison."""
    parser.add_argument("other", metavar="DIR2", nargs="?", help="compare this run with DIR, the baseline")
    parser.add_argument(
        "--fail-on", metavar="COND", action="append", default=[],
        help="exit 3 if it is so: 'mean>10%%', 'solve:mean>5ms', 'rate<-10%%'; with --history: poor; may be repeated",
    )  # fmt: skip


def refuse_mixture(args: argparse.Namespace) -> None:
    """Refuse arguments that mean nothing beside each other.

    Raises:
        UsageError: there are such.
    """
    if args.other is None:
        if args.fail_on and args.history is None:
            raise UsageError("--fail-on needs something to compare with: a second run, or --history")
        if args.keep is not None and args.history is None:
            raise UsageError("--keep is about --history: give its file")
        return
    single = [f"--{name}" for name in SINGLE if getattr(args, name) is not None]
    if single:
        raise UsageError(f"{single[0]} is for one run: leave it out, or the second directory")


def run_compare(args: argparse.Namespace, width: int) -> int:
    """Read both runs, compare, print, and judge.

    Raises:
        GateError: a condition does not hold.
        UsageError: a condition makes no sense, or --id means nothing in either run.
        NoDataError: one of the runs has nothing to compare.
    """
    from incprof.analysis.beats.compare import compare, differences
    from incprof.analysis.beats.gates import broken, parse
    from incprof.analysis.beats.match import match
    from incprof.report.json.beats_compare import write_json
    from incprof.report.text.beats_compare import write_text
    from incprof.report.words.beats_compare import broken_line

    conditions = [parse(text) for text in args.fail_on]
    wanted = argparse.Namespace(**{**vars(args), "id": None})  # a heartbeat may well be in one run only
    found = load(args.directory, wanted), load(args.other, wanted)
    warnings = tuple(f"{letter}: {line}" for letter, run in zip("AB", found, strict=True) for line in run.warnings)
    warn(warnings)
    pairs = match(summaries(found[0]), summaries(found[1]))
    diffs = compare(pairs if args.id is None else _selected(pairs, args))
    failed = broken(conditions, diffs)
    runs = (args.directory, run_of(found[0])), (args.other, run_of(found[1]))
    notes = differences(runs[0][1], runs[1][1])
    if args.json:
        write_json(runs, notes, diffs, failed, warnings, sys.stdout)
    else:
        write_text(runs, notes, diffs, sys.stdout, width=width, every=args.all)
    if failed:
        sys.stdout.flush()
        raise GateError(*(broken_line(condition, diff) for condition, diff in failed))
    return PartialDataError.exit_code if found[0].damaged or found[1].damaged else 0


def _selected(pairs: list[Pair], args: argparse.Namespace) -> list[Pair]:
    """Keep the pairs that --id means, in either run.

    Raises:
        UsageError: a part of it means nothing.
    """
    kept: set[int] = set()
    for part in args.id:
        mine = {
            at
            for at, pair in enumerate(pairs)
            if any(beat is not None and matches(beat, part) for beat in (pair.a, pair.b))
        }
        if not mine:
            what = part if isinstance(part, str) else ",".join(map(str, sorted(part)[:3]))
            raise UsageError(f"--id {what}: no such heartbeat in {args.directory} or {args.other}")
        kept |= mine
    return [pairs[at] for at in sorted(kept)]
