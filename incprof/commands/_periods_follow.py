"""`incprof periods --follow FILE`: patterns of a series that is still being written, a line for each change."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from incprof.errors import NoDataError, UsageError

if TYPE_CHECKING:
    from incprof.analysis.patterns_results import PatternOptions, Patterns
    from incprof.analysis.patterns_stream import PatternStream

# Rows that are taken at once, and how long to wait for more.
BATCH = 4096
PAUSE_S = 0.2


def add_follow_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of following."""
    parser.add_argument("--follow", action="store_true", help="read on as the text grows; a line for each change")
    parser.add_argument("--idle", type=float, default=10.0, metavar="S", help="end after so long without a line (10)")


def check_follow(args: argparse.Namespace) -> None:
    """Refuse what does not go with following.

    Raises:
        UsageError: another output was asked for too.
    """
    clash = [f"--{name}" for name in ("csv", "plot", "compare") if getattr(args, name)]
    if clash or args.range != (0, None):
        raise UsageError(f"{(clash or ['--range'])[0]} does not go with --follow")
    if not 0 <= args.idle < 1e9:
        raise UsageError(f"--idle {args.idle:g}: expected seconds from 0 on")


def follow(args: argparse.Namespace, options: PatternOptions) -> int:
    """Feed rows to the stream as they come, and print what changes; what is known at the end comes last."""
    from incprof.analysis.patterns_stream import PatternStream
    from incprof.readers.series_rows import batches

    stream = PatternStream(options)
    last = ""
    with _opened(args.series) as text:
        for values in batches(_lines(text, args.idle), args.series, args.column, BATCH):
            if stream.feed(values):
                last = _shown(stream, last, args)
    if not stream.samples:
        raise NoDataError(f"{args.series}: no sample")
    stream.search()
    _shown(stream, "", args)
    return 0


def _opened(path: str) -> TextIO:
    return sys.stdin if path == "-" else open(path, encoding="utf-8-sig", errors="replace")


def _lines(text: TextIO, idle: float) -> Iterator[str]:
    """Yield whole lines as they come, an empty one where there is none yet; end at the end of a pipe, or when idle."""
    rest, quiet = "", time.monotonic()
    while True:
        part = text.readline()
        if part:
            quiet = time.monotonic()
            rest += part
            if rest.endswith("\n"):
                yield rest
                rest = ""
            continue
        yield ""
        if not text.seekable() or time.monotonic() - quiet >= idle:
            break
        time.sleep(min(PAUSE_S, idle))
    if rest:
        yield rest


def _shown(stream: PatternStream, last: str, args: argparse.Namespace) -> str:
    """Print the state, unless it is the last one again; return it."""
    line = _as_json(stream.result, args.series) if args.json else _as_text(stream.result)
    if line != last:
        print(line, flush=True)
    return line


def _as_text(found: Patterns) -> str:
    """Return the state in one line."""
    parts = [f"{found.samples:>9} samples", f"{found.summary:>12}", f"{100 * found.coverage:6.2f} %"]
    each = ", ".join(f"{p.length} x {len(p.instances)}" for p in found.patterns[:8])
    return "  ".join([*parts, each or "no period"])


def _as_json(found: Patterns, source: str) -> str:
    """Return the state as an object of the schema, in one line."""
    from incprof.report.periods_json import as_dict

    return json.dumps(as_dict(source, "", None, found, ()), allow_nan=False)
