"""What the verbs that read heartbeats have in common: filters, reading, and the way from files to the analysis."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from incprof.errors import IncprofError, NoDataError, UsageError

if TYPE_CHECKING:
    from appekg.model import Beat, Heartbeats
    from incprof.analysis.beats.results import BeatRun, BeatSummary

LARGEST_RANGE = 1_000_000
COUNTERS = ("dropped", "unmatched", "abandoned", "lost_intervals", "lost_rows")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that say which heartbeats are meant."""
    parser.add_argument("--rank", type=numbers, metavar="LIST", help="only these ranks: 0 or 0,4-7")
    parser.add_argument("--thread", type=numbers, metavar="LIST", help="only these threads, by number")
    parser.add_argument("--id", type=words, metavar="LIST", help="only these ids or names: 1,3-5 or 'solve:*'")
    parser.add_argument("--time", type=seconds, metavar="A:B", help="only from second A to B: 10:20, :5, 60:")


def numbers(text: str) -> frozenset[int]:
    """Return the numbers of a list such as 1,3-5."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,18})(?:-([0-9]{1,18}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high < low + LARGEST_RANGE:
            raise argparse.ArgumentTypeError(f"{text!r}: expected numbers such as 0 or 1,3-5")
        found.update(range(low, high + 1))
    return frozenset(found)


def words(text: str) -> tuple[frozenset[int] | str, ...]:
    """Return the parts of a list of ids and names: a set of numbers, or a pattern for names."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise argparse.ArgumentTypeError("expected ids or names such as 1,3-5 or 'solve:*'")
    return tuple(numbers(part) if re.fullmatch(r"[0-9]+(-[0-9]+)?", part) else part for part in parts)


def seconds(text: str) -> tuple[float | None, float | None]:
    """Return the ends of A:B, None for one that is left out."""
    match = re.fullmatch(r"([0-9.]*):([0-9.]*)", text)
    try:
        low, high = (float(end) if end else None for end in match.groups()) if match else (None, None)
    except ValueError:
        low = high = None
    if (low is None and high is None) or (low is not None and high is not None and not low < high):
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds A:B with A before B, as in 10:20, :5 or 60:")
    return low, high


def load(path: str, args: argparse.Namespace) -> Heartbeats:
    """Read the heartbeats in a run directory (or one file) that the filters let through.

    Raises:
        NoDataError: there are none.
        UsageError: no such rank, or no such id.
        IncprofError: the files are of a later version.
    """
    from appekg.errors import AppekgError, NewerFormatError, NoSuchRankError
    from appekg.reader import read

    since, until = args.time or (None, None)
    try:
        found = read(path, ranks=args.rank, threads=args.thread, since_s=since, until_s=until)
    except NoSuchRankError as error:
        raise UsageError(str(error)) from error
    except NewerFormatError as error:
        raise IncprofError(str(error)) from error
    except AppekgError as error:
        raise NoDataError(str(error)) from error
    if not any(len(process.intervals) for process in found.processes):
        when = " in that time" if args.time else " yet"
        raise NoDataError(f"{path}: no complete interval{when}")
    return found if args.id is None else selected(found, args.id)


def selected(found: Heartbeats, wanted: Iterable[frozenset[int] | str]) -> Heartbeats:
    """Keep the ids that are in a set, or whose names match a pattern.

    Raises:
        UsageError: a part of `wanted` means nothing that is there.
    """
    import numpy as np

    ids: set[int] = set()
    for part in wanted:
        mine = {number for number, beat in found.beats.items() if matches(beat, part)}
        if not mine:
            what = part if isinstance(part, str) else f"{min(part)}" + (f"-{max(part)}" if len(part) > 1 else "")
            raise UsageError(f"--id {what}: no such heartbeat in {found.directory}")
        ids |= mine
    rows = found.rows[np.isin(found.rows["id"], sorted(ids))]
    return replace(found, rows=rows, beats={number: found.beats[number] for number in sorted(ids)})


def matches(beat: Beat | BeatSummary, part: frozenset[int] | str) -> bool:
    """Say whether a heartbeat is meant by a part of --id."""
    if isinstance(part, frozenset):
        return beat.id in part
    return beat.name is not None and (beat.name == part or fnmatchcase(beat.name, part))


def summaries(found: Heartbeats) -> list[BeatSummary]:
    """Sum up each heartbeat, by id."""
    from incprof.analysis.beats import summarise
    from incprof.analysis.beats.grid import Span

    earliest = min((process.start_unix_s for process in found.processes), default=0.0)
    spans = [
        Span(p.rank, p.start_unix_s - earliest, p.intervals["start_ns"] / 1e9, p.intervals["end_ns"] / 1e9)
        for p in found.processes
    ]
    known = {beat.id: (beat.name, beat.rate_factor) for beat in found.beats.values()}
    return summarise(found.rows, spans, known, interval_s=min((p.interval_s for p in found.processes), default=1.0))


def run_of(found: Heartbeats) -> BeatRun:
    """Return what there is to say about the run as a whole."""
    import numpy as np

    from incprof.analysis.beats.results import BeatRun

    some = [process for process in found.processes if len(process.intervals)]
    earliest = min((process.start_unix_s for process in found.processes), default=0.0)
    _, thread = np.unique(found.rows["thread"], return_inverse=True)
    begin = min(p.start_unix_s - earliest + float(p.intervals["start_ns"][0]) / 1e9 for p in some)
    end = max(p.start_unix_s - earliest + p.duration_s for p in some)
    return BeatRun(
        app=some[0].app,
        ranks=len({process.rank for process in found.processes}),
        processes=len(found.processes),
        threads=len(np.unique(found.rows["process"].astype(np.int64) * (len(thread) + 1) + thread)),
        intervals=max(len(process.intervals) for process in some),
        interval_s=min(process.interval_s for process in some),
        start_s=begin,
        duration_s=end - begin,
        clean=all(process.clean for process in found.processes),
        counters={
            name: sum(int(process.intervals[name].sum(dtype=np.float64)) for process in some) for name in COUNTERS
        },
    )
