"""Decide whether a run is poor relative to the application's own history, metric by metric."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from incprof.analysis.compare.match_names import BeatKey, beat_keys
from incprof.analysis.compare.noise import PastRuns, adjusted, p_of, past_runs
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSeries, BeatSummary, FloatArray
from incprof.study.heartbeat_files import run_of
from incprof.systems.heartbeats.history_store import BeatRow, RunRow, opened

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats


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


def facts(rows: Sequence[BeatRow]) -> dict[BeatKey, tuple[int, Mapping[str, float]]]:
    """Return the metrics of a run to assess; invalid values, in a file that others can write, are omitted."""
    sane = [row for row in rows if isinstance(row.id, int) and isinstance(row.name, str | None)]
    found: dict[BeatKey, tuple[int, Mapping[str, float]]] = {}
    for key, row in zip(beat_keys([(row.id, row.name) for row in sane]), sane, strict=True):
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
    limits: dict[BeatKey, list[float]] = {}
    for run, rows in past:
        if run.interval_s == own.interval_s:
            for key, row in zip(beat_keys([(row.id, row.name) for row in rows]), rows, strict=True):
                if (p99 := positive(row.q99)) is not None:
                    limits.setdefault(key, []).append(p99)
    return [
        slow_segments(beat.id, beat.name, beat.series, limit(limits[key]), own.interval_s)
        for key, beat in zip(beat_keys([(beat.id, beat.name) for beat in beats]), beats, strict=True)
        if len(limits.get(key, ())) >= MIN_PAST and beat.count
    ]


# The metrics of a run against those of the past runs (noise.PastRuns).


MIN_PAST = 5
ALARM = 0.01  # probability that a quiet run has a metric reported as poor
MORE_IS_POOR = {"mean": True, "rate": False}


@dataclass(frozen=True)
class Assessment:
    """A metric of a heartbeat compared with its past.

    Attributes:
        id: Id of the heartbeat in this run, or in the last one that had it.
        name: Name of the heartbeat.
        metric: `mean` (seconds) or `rate` (beats or pulses per second, including unrecorded ones).
        value: Value in this run; None if it has none.
        past: Past values; None if no past run has any.
        deviations: Number of spreads by which this run is worse than the median (negative: better).
        p_value: Probability that a quiet run is this bad or worse; None with too few past runs.
        p_adjusted: The same, adjusted for the number of metrics.
        better_runs: Number of past runs that were better.
        verdict: `poor`, `good` (as unusual, but better), `usual`, `few` (past runs with it), `missing` (every past run
            has this heartbeat), or `follows`: a poor rate while the durations of other heartbeats are poor, and this
            one's is not. A phase that takes longer leaves less time for all others.
    """

    id: int
    name: str | None
    metric: str
    value: float | None
    past: PastRuns | None
    deviations: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    better_runs: int = 0
    verdict: str = "few"


def assess(
    now: Mapping[BeatKey, tuple[int, Mapping[str, float]]],
    past: Sequence[Mapping[BeatKey, tuple[int, Mapping[str, float]]]],
) -> list[Assessment]:
    """Assess each metric of a run.

    Args:
        now: For each heartbeat its id and its metrics, all above 0.
        past: The same for each past run.

    Returns:
        Assessments by id, and in the order of MORE_IS_POOR; missing heartbeats are last.
    """
    found = []
    for key, (number, own) in sorted(now.items(), key=lambda item: item[1][0]):
        for metric, value in own.items():
            before = [run[key][1][metric] for run in past if key in run and metric in run[key][1]]
            found.append(_assessment(Assessment(number, key[0], metric, value, None), value, before))
    p_values = [assessment.p_value for assessment in found]
    worse, better = adjusted(p_values), adjusted([None if p is None else 1 - p for p in p_values])
    for at, (bad, good) in enumerate(zip(worse, better, strict=True)):
        if bad is not None and good is not None:
            verdict = "poor" if bad <= ALARM else "good" if good <= ALARM else "usual"
            found[at] = replace(found[at], p_adjusted=bad, verdict=verdict)
    longer = {assessment.id for assessment in found if assessment.metric == "mean" and assessment.verdict == "poor"}
    for at, assessment in enumerate(found):
        if longer and assessment.verdict == "poor" and assessment.id not in longer:
            found[at] = replace(assessment, verdict="follows")
    return found + _missing(now, past)


def _assessment(empty: Assessment, value: float, before: Sequence[float]) -> Assessment:
    """Assess one metric, without adjusting for the others."""
    if not before:
        return empty
    past = past_runs(before)
    sign = 1 if MORE_IS_POOR[empty.metric] else -1
    deviations = sign * past.deviations(value)
    rank = sum(sign * other < sign * value for other in before)
    p = p_of(deviations, len(before)) if len(before) >= MIN_PAST else None
    return replace(empty, past=past, deviations=deviations, p_value=p, better_runs=rank)


def _missing(
    now: Mapping[BeatKey, object], past: Sequence[Mapping[BeatKey, tuple[int, Mapping[str, float]]]]
) -> list[Assessment]:
    """Return the heartbeats that all past runs have, but this one has not."""
    if len(past) < MIN_PAST:
        return []
    always = [key for key in past[-1] if key not in now and all(key in run for run in past)]
    return [
        Assessment(past[-1][key][0], key[0], "rate", None, None, better_runs=len(past), verdict="missing")
        for key in sorted(always, key=lambda key: past[-1][key][0])
    ]


# Result of comparing a run with the application's history; all that reports read.


@dataclass(frozen=True)
class History:
    """A run compared with past runs.

    Attributes:
        path: Path of the history.
        run: The run.
        start_unix_s: Its start, in seconds since 1970.
        threads: Number of threads with heartbeats at once, over all ranks.
        how: `added`, `updated` or `known`.
        forgotten: Number of runs deleted from the history.
        past_starts_unix_s: Starts of the past runs used, ascending, in seconds since 1970.
        other_threads: Number of past runs not used because their number of threads differs.
        other_argv: Number of past runs used that had other arguments.
        assessments: Assessment of each metric of each heartbeat.
        slow: Slow segments of the heartbeats.
    """

    path: str
    run: BeatRun
    start_unix_s: float
    threads: int
    how: str
    forgotten: int
    past_starts_unix_s: tuple[float, ...]
    other_threads: int
    other_argv: int
    assessments: tuple[Assessment, ...]
    slow: tuple[Slow, ...]

    @property
    def poor(self) -> list[Assessment]:
        """Assessments of the poor metrics in this run."""
        return [assessment for assessment in self.assessments if assessment.verdict in ("poor", "missing")]

    @property
    def enough(self) -> bool:
        """Whether there are enough past runs for an assessment."""
        return len(self.past_starts_unix_s) >= MIN_PAST


# Find segments in which a heartbeat was slow relative to its own past: intervals above nearly all past ones.


QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
BEYOND = 0.99
BRIDGE = 1  # this many intervals between two slow ones do not separate them
CHANCE = 0.01


@dataclass(frozen=True)
class SlowSegment:
    """A segment of slow intervals.

    Attributes:
        start_s: Seconds since the start of the run.
        end_s: Seconds since the start of the run.
        intervals: Number of slow intervals.
        mean_s: Their mean duration, in seconds.
    """

    start_s: float
    end_s: float
    intervals: int
    mean_s: float


@dataclass(frozen=True)
class Slow:
    """The slow segments of a heartbeat.

    Attributes:
        id: Id of the heartbeat.
        name: Name of the heartbeat.
        limit_s: Mean duration above which an interval is slow, in seconds.
        intervals: Number of intervals of this run in which a beat ended.
        slow: Number of slow ones among them; 1 % is expected in a run like the past ones.
        segments: The segments, in order of time.
    """

    id: int
    name: str | None
    limit_s: float
    intervals: int
    slow: int
    segments: tuple[SlowSegment, ...]

    @property
    def notable(self) -> bool:
        """Whether there are more slow intervals, or more in a row, than 1 % scattered at random."""
        by_chance = float(special.bdtrc(self.slow - 1, self.intervals, 1 - BEYOND)) if self.slow else 1.0
        return by_chance < CHANCE or any(segment.intervals > 1 for segment in self.segments)


def quantiles(series: BeatSeries) -> FloatArray:
    """Return the QUANTILES of the means of intervals in which beats ended, shape (9,); NaN without any."""
    some = series.counts > 0
    if not some.any():
        return np.full(len(QUANTILES), np.nan)
    return np.quantile(series.sums_s[some] / series.counts[some], QUANTILES)


def limit(p99: Sequence[float]) -> float:
    """Return the past p99: the median of that of each run, so that a poor run does not raise it."""
    return float(np.median(p99))


def slow_segments(number: int, name: str | None, series: BeatSeries, limit_s: float, interval_s: float) -> Slow:
    """Return the intervals whose mean is above a limit, merged to segments.

    Args:
        number: Id of the heartbeat.
        name: Its name.
        series: The heartbeat over time.
        limit_s: The limit, in seconds.
        interval_s: Nominal length of an interval, in seconds.
    """
    some = series.counts > 0
    cells, counts, sums = series.at[some], series.counts[some], series.sums_s[some]
    at = np.flatnonzero(sums / counts > limit_s)
    parts = np.split(at, np.flatnonzero(np.diff(at) > BRIDGE + 1) + 1) if at.size else []
    segments = []
    for part in parts:
        end = float(series.end_s[cells[part[-1]]])
        first = int(cells[part[0]])
        start = float(series.end_s[first]) - interval_s
        if first and series.end_s[first] - series.end_s[first - 1] < 1.5 * interval_s:
            start = float(series.end_s[first - 1])
        mean = float(sums[part].sum() / counts[part].sum())
        segments.append(SlowSegment(max(start, 0.0), end, len(part), mean))
    return Slow(number, name, limit_s, len(cells), len(at), tuple(segments))
