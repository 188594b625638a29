"""Compare a run with the application's history: what is stored of a run, and how it is assessed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from incprof.study.heartbeats.read import run_of
from incprof.systems.heartbeats.history import MIN_PAST, Key, assess, keys
from incprof.systems.heartbeats.history_store import BeatRow, RunRow, opened
from incprof.systems.heartbeats.slow_segments import Slow, limit, quantiles, slow_stretches
from incprof.systems.heartbeats.verdict import History

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats
    from incprof.analysis.heartbeats.summaries import BeatSummary

LARGEST = 2**63 - 1
LONGEST = 4096
# Thread pools of slightly different size count as equal; half as many threads do not.
THREADS_WITHIN = 0.25


def keep_and_assess(found: Heartbeats, beats: list[BeatSummary], path: str, keep: int | None) -> History:
    """Store a run, and compare it with the application's past runs.

    Args:
        found: The run.
        beats: Summaries of its heartbeats.
        path: Path of the history.
        keep: Number of newest such runs to keep; None keeps all.

    Raises:
        IncprofError: the history cannot be used.
    """
    own = run_row(found)
    with opened(path) as store:
        number, how = store.add(own, [beat_row(beat) for beat in beats])
        before = store.past(number)
        forgotten = store.keep(own.app, own.ranks, keep) if keep is not None else 0
    past = [(run, rows) for run, rows in before if alike(run.threads, own.threads)]
    assessments = assess(facts([beat_row(beat) for beat in beats]), [facts(rows) for _, rows in past])
    if not own.clean:  # missing heartbeats may still occur
        assessments = [assessment for assessment in assessments if assessment.verdict != "missing"]
    return History(
        path=path,
        run=run_of(found),
        start_unix_s=own.start_unix_ns / 1e9,
        threads=own.threads,
        how=how,
        forgotten=forgotten,
        past_starts_unix_s=tuple(run.start_unix_ns / 1e9 for run, _ in past),
        other_threads=len(before) - len(past),
        other_argv=sum(run.argv != own.argv for run, _ in past),
        assessments=tuple(assessments),
        slow=tuple(slow(beats, own, past)),
    )


def alike(one: int, other: int) -> bool:
    """Return whether two runs have about as many threads."""
    return abs(one - other) <= THREADS_WITHIN * max(one, other)


def run_row(found: Heartbeats) -> RunRow:
    """Return what is stored of a run as a whole."""
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
    """Return a value from a file as text that a database accepts."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:LONGEST].encode("utf-8", "replace").decode("utf-8")


def threads_at_once(found: Heartbeats) -> int:
    """Return the number of threads with heartbeats in an interval, over all ranks: the sum of each process' median.

    The number in the whole run would not do: where threads come and go, it grows with the run's length.
    """
    import numpy as np

    rows = np.unique(found.rows[["process", "interval", "thread"]])
    cells, counts = np.unique(rows[["process", "interval"]], return_counts=True)
    return sum(int(np.median(counts[cells["process"] == p])) for p in np.unique(cells["process"]).tolist())


def beat_row(beat: BeatSummary) -> BeatRow:
    """Return what is stored of a heartbeat."""
    spread = [None if math.isnan(value) else value for value in quantiles(beat.series).tolist()]
    return BeatRow(
        beat.id, beat.name, beat.rate_factor, min(beat.count, LARGEST), min(beat.pulses, LARGEST), beat.mean_s,
        beat.min_s, beat.max_s, beat.std_s, beat.p5_s, beat.p95_s, beat.rate_hz, beat.busy_pct, *spread,
    )  # fmt: skip


def facts(rows: Sequence[BeatRow]) -> dict[Key, tuple[int, Mapping[str, float]]]:
    """Return the metrics of a run to assess; invalid values, in a file that others can write, are omitted."""
    sane = [row for row in rows if isinstance(row.id, int) and isinstance(row.name, str | None)]
    found: dict[Key, tuple[int, Mapping[str, float]]] = {}
    for key, row in zip(keys([(row.id, row.name) for row in sane]), sane, strict=True):
        factor = row.rate_factor if isinstance(row.rate_factor, int | float) else 1
        values = {"mean": positive(row.mean_s), "rate": (positive(row.rate_hz) or 0.0) * factor}
        if own := {metric: value for metric, value in values.items() if value}:
            found[key] = (row.id, own)
    return found


def positive(value: object) -> float | None:
    """Return a number above 0, else None."""
    return float(value) if isinstance(value, int | float) and 0 < value < math.inf else None


def slow(beats: Sequence[BeatSummary], own: RunRow, past: Sequence[tuple[RunRow, list[BeatRow]]]) -> list[Slow]:
    """Return the slow segments of each heartbeat, according to past runs with equally long intervals."""
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
