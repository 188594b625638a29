"""`incprof heartbeats DIR --history FILE`: keep the run, and judge it by the application's own past."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from incprof.commands._beats import run_of
from incprof.commands._beats_store import BeatRow, RunRow, check_store, opened
from incprof.errors import GateError, PartialDataError, UsageError

if TYPE_CHECKING:
    from appekg.model import Heartbeats
    from incprof.analysis.beats.history import Key
    from incprof.analysis.beats.results import BeatSummary
    from incprof.analysis.beats.stretches import Slow

POOR = "poor"
LARGEST = 2**63 - 1
LONGEST = 4096
# A pool that has a thread more or less is the same; half as many threads are another run.
THREADS_WITHIN = 0.25


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the history."""
    parser.add_argument("--history", metavar="FILE", help="keep the run in this file, and judge it by its past there")
    parser.add_argument("--keep", type=int, metavar="N", help="with --history: forget all but the newest N such runs")


def check_history(args: argparse.Namespace, *, stdout_taken: bool) -> None:
    """Refuse what makes no sense before anything is read.

    Raises:
        UsageError: a filter, another form of output, a condition other than poor, or a file that is no history.
    """
    if args.keep is not None and args.keep < 1:
        raise UsageError(f"--keep {args.keep}: expected a number from 1")
    if stdout_taken:
        raise UsageError("--history prints its verdict: give a file to what would go to stdout")
    if any(condition != POOR for condition in args.fail_on):
        raise UsageError("--fail-on with --history is 'poor'; conditions such as 'mean>10%' are for two runs")
    parts = [f"--{name}" for name in ("rank", "thread", "id", "time") if getattr(args, name) is not None]
    if parts:
        raise UsageError(f"--history keeps whole runs: leave out {parts[0]}")
    check_store(args.history)


def run_history(found: Heartbeats, beats: list[BeatSummary], args: argparse.Namespace, width: int) -> int:
    """Keep a run, judge it, print.

    Raises:
        GateError: it is poor, and --fail-on poor was given.
        IncprofError: the history cannot be used.
    """
    from incprof.analysis.beats.history import judge
    from incprof.analysis.beats.verdict import History
    from incprof.report.json.beats_history import write_json
    from incprof.report.text.beats_history import write_text
    from incprof.report.words.beats_history import poor_line

    own = run_row(found)
    with opened(args.history) as store:
        number, how = store.add(own, [beat_row(beat) for beat in beats])
        before = store.past(number)
        forgotten = store.keep(own.app, own.ranks, args.keep) if args.keep is not None else 0
    past = [(run, rows) for run, rows in before if alike(run.threads, own.threads)]
    judgements = judge(facts([beat_row(beat) for beat in beats]), [facts(rows) for _, rows in past])
    if not own.clean:  # what is missing may be yet to come
        judgements = [judgement for judgement in judgements if judgement.verdict != "missing"]
    history = History(
        path=args.history,
        run=run_of(found),
        start_unix_s=own.start_unix_ns / 1e9,
        threads=own.threads,
        how=how,
        forgotten=forgotten,
        past_starts_unix_s=tuple(run.start_unix_ns / 1e9 for run, _ in past),
        other_threads=len(before) - len(past),
        other_argv=sum(run.argv != own.argv for run, _ in past),
        judgements=tuple(judgements),
        slow=tuple(slow(beats, own, past)),
    )
    if args.json:
        write_json(history, found.warnings, sys.stdout)
    else:
        write_text(history, sys.stdout, width=width, every=args.all)
    if args.fail_on and history.poor:
        sys.stdout.flush()
        raise GateError(*map(poor_line, history.poor))
    return PartialDataError.exit_code if found.damaged else 0


def alike(one: int, other: int) -> bool:
    """Say whether two runs have about as many threads."""
    return abs(one - other) <= THREADS_WITHIN * max(one, other)


def run_row(found: Heartbeats) -> RunRow:
    """Return what is kept of a run as such."""
    first = found.processes[0]
    run = run_of(found)
    start = int(first.metadata.get("start_unix_ns", 0))
    launch = _text(first.metadata.get("launch"))
    return RunRow(
        identity=json.dumps([launch, start, _text(first.path.name)]),
        app=_text(run.app),
        exe=_text(first.metadata.get("exe")),
        argv=_text(json.dumps(first.metadata.get("argv"))),
        host=_text(first.metadata.get("host")),
        launch=launch,
        start_unix_ns=start,
        ranks=run.ranks,
        processes=run.processes,
        threads=threads_at_once(found),
        intervals=run.intervals,
        interval_s=run.interval_s,
        duration_s=run.duration_s,
        clean=int(run.clean),
        damaged=int(found.damaged),
    )


def _text(value: object) -> str:
    """Return what a file says, as text that a database takes."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:LONGEST].encode("utf-8", "replace").decode("utf-8")


def threads_at_once(found: Heartbeats) -> int:
    """Return how many threads have heartbeats in an interval, all ranks together: the median of each process, summed.

    Not how many there were in the whole run: where threads come and go, that grows with its length.
    """
    import numpy as np

    rows = np.unique(found.rows[["process", "interval", "thread"]])
    cells, counts = np.unique(rows[["process", "interval"]], return_counts=True)
    return sum(int(np.median(counts[cells["process"] == p])) for p in np.unique(cells["process"]).tolist())


def beat_row(beat: BeatSummary) -> BeatRow:
    """Return what is kept of a heartbeat."""
    from incprof.analysis.beats.stretches import quantiles

    spread = [None if math.isnan(value) else value for value in quantiles(beat.series).tolist()]
    return BeatRow(
        beat.id, beat.name, beat.rate_factor, min(beat.count, LARGEST), min(beat.pulses, LARGEST), beat.mean_s,
        beat.min_s, beat.max_s, beat.std_s, beat.p5_s, beat.p95_s, beat.rate_hz, beat.busy_pct, *spread,
    )  # fmt: skip


def facts(rows: Sequence[BeatRow]) -> dict[Key, tuple[int, Mapping[str, float]]]:
    """Return the figures of a run that are judged; what makes no sense in a file that others can write is left out."""
    from incprof.analysis.beats.history import keys

    sane = [row for row in rows if isinstance(row.id, int) and isinstance(row.name, str | None)]
    found: dict[Key, tuple[int, Mapping[str, float]]] = {}
    for key, row in zip(keys([(row.id, row.name) for row in sane]), sane, strict=True):
        factor = row.rate_factor if isinstance(row.rate_factor, int) else 1
        values = {"mean": positive(row.mean_s), "rate": (positive(row.rate_hz) or 0.0) * factor}
        if own := {metric: value for metric, value in values.items() if value}:
            found[key] = (row.id, own)
    return found


def positive(value: object) -> float | None:
    """Return a number above 0, else None."""
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else None


def slow(beats: Sequence[BeatSummary], own: RunRow, past: Sequence[tuple[RunRow, list[BeatRow]]]) -> list[Slow]:
    """Return when each heartbeat was slow, from the past runs with intervals of this length."""
    from incprof.analysis.beats.history import MIN_PAST, keys
    from incprof.analysis.beats.stretches import limit, slow_stretches

    limits: dict[Key, list[float]] = {}
    for run, rows in past:
        if run.interval_s == own.interval_s:
            for key, row in zip(keys([(row.id, row.name) for row in rows]), rows, strict=True):
                if (p99 := positive(row.q99)) is not None:
                    limits.setdefault(key, []).append(p99)
    return [
        slow_stretches(beat.id, beat.name, beat.series, limit(limits[key]), own.interval_s)
        for key, beat in zip(keys([(beat.id, beat.name) for beat in beats]), beats, strict=True)
        if len(limits.get(key, ())) >= MIN_PAST and beat.count
    ]
