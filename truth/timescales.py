"""Runs with parts of 0.3 % to 20 % and iterations of 5 ms to 100 s, each recorded at several intervals.

The recordings of a run hold the same samples, so that the answers should be the same. `robust` alone is run: the
paper's method depends on the interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from incprof.analysis.answer import find_phases
from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.phases.levels import in_bins
from incprof.model import FloatArray, IntArray, IntervalProfile, pooled
from truth.play import play
from truth.schedules import Rng
from truth.split import HELD, SPLITS, half_of, seed_of
from truth.story import Episode, Scenario, edges_of
from truth.work import Work, called, log_uniform, one_long_call, step_seconds, stepped

FAMILY, NUMBER = "timescales", 60
# Lengths of the intervals, seconds; the finest is that of the recording, the others hold several of it.
INTERVALS = (0.05, 0.2, 1.0, 5.0)
# A part of this share of the run is a phase; of a smaller one, both answers are right.
LEAST, SMALL = 0.01, (0.01, 0.05)
# A boundary is right within so many seconds, or within so many samples.
NEAR_S, NEAR_SAMPLES = 0.05, 2.0
# Iterations of a part, at least.
LEAST_ITERATIONS = 6


@dataclass(frozen=True)
class Answer:
    """The answer to one recording of a run.

    Attributes:
        run: number of the run.
        split: its half.
        interval_s: length of an interval of the recording.
        k_right: whether the number of phases is right.
        truth: adjusted Rand index of the samples' phases against the true ones.
        small: (boundaries found, boundaries) of parts of 1 to 5 % of the run.
        same: adjusted Rand index against the answer to the finest recording.
        same_sites: whether the sites are those of the finest recording.
    """

    run: int
    split: str
    interval_s: float
    k_right: bool
    truth: float
    small: tuple[int, int]
    same: float
    same_sites: bool


def draw(rng: Rng) -> Scenario:
    """Draw a run: parts at the start, one or two long ones, and parts at the end; all differ."""
    seconds = log_uniform(rng, 30.0, 1500.0)
    before, after = (
        [log_uniform(rng, 0.003, 0.2) for _ in range(int(rng.integers(low, high)))] for low, high in ((1, 5), (0, 3))
    )
    middle = max(1.0 - sum(before) - sum(after), 0.3)
    cut = float(rng.uniform(0.3, 0.7))
    main = [middle] if rng.random() < 0.6 else [cut * middle, (1.0 - cut) * middle]
    shares = np.array([*before, *main, *after]) / (sum(before) + middle + sum(after))
    works = tuple(_work(rng, i, float(share) * seconds) for i, share in enumerate(shares))
    parts = tuple(Episode(i, float(share) * seconds) for i, share in enumerate(shares))
    return Scenario(works, parts, interval_s=INTERVALS[0], rate_hz=float(rng.choice([100.0, 250.0])))


def _work(rng: Rng, i: int, seconds: float) -> Work:
    """Draw the work of a part: iterations of one or several steps, or one long call."""
    period = log_uniform(rng, 0.005, max(0.006, min(100.0, seconds / LEAST_ITERATIONS)))
    kind = int(rng.integers(4))
    if kind == 0:
        return one_long_call(rng, i)
    if kind == 1:
        return called(rng, i, seconds=period, spread=rng.random() < 0.5)
    return stepped(rng, i, step_seconds(rng, int(rng.integers(2, 5)), period))


def answers(split: str | None = None, number: int = NUMBER) -> Iterator[list[Answer]]:
    """Iterate over the runs of a half, or of both: the answers to all recordings of each."""
    for run in range(number):
        if split in (None, half_of(FAMILY, run)):
            yield answers_to(run)


def answers_to(run: int) -> list[Answer]:
    """Return the answers to all recordings of a run, by its number."""
    rng = np.random.default_rng(seed_of(FAMILY, run))
    scenario = draw(rng)
    edges = edges_of(scenario, rng)
    profile = play(scenario, edges, rng).profile(scenario.interval_s, scenario.rate_hz, _NONE, _NONE, rng)
    return list(_of_run(run, half_of(FAMILY, run), scenario, profile))


_NONE = np.zeros(0, dtype=np.int64)


def _of_run(run: int, split: str, scenario: Scenario, profile: IntervalProfile) -> Iterator[Answer]:
    time_s = profile.samples.time_s
    true = np.minimum(np.searchsorted(scenario.ends, time_s, side="right"), len(scenario.episodes) - 1)
    first: tuple[IntArray, frozenset[tuple[int, str]]] | None = None
    for interval_s in INTERVALS:
        pooled_profile = pooled(profile, round(interval_s / INTERVALS[0]))
        result = find_phases(in_bins(replace(pooled_profile, metadata=replace(pooled_profile.metadata, pooled=1))))
        labels = _at(result, time_s)
        sites = frozenset((site.index, site.kind) for phase in result.phases for site in phase.sites)
        first = first or (labels, sites)
        yield Answer(
            run,
            split,
            interval_s,
            _least(scenario) <= result.k <= len(scenario.works),
            float(adjusted_rand_score(true, labels)),
            _small(scenario, result),
            float(adjusted_rand_score(first[0], labels)),
            sites == first[1],
        )


def _at(result: PhaseResult, time_s: FloatArray) -> IntArray:
    """Return the phase of each sample, (s,)."""
    row = np.minimum(np.searchsorted(result.end_s, time_s, side="left"), len(result.end_s) - 1)
    out: IntArray = result.labels[row]
    return out


def _shares(scenario: Scenario) -> FloatArray:
    seconds = np.array([part.seconds for part in scenario.episodes])
    shares: FloatArray = seconds / seconds.sum()
    return shares


def _least(scenario: Scenario) -> int:
    """Return the least right number of phases."""
    return int((_shares(scenario) >= LEAST).sum())


def _small(scenario: Scenario, result: PhaseResult) -> tuple[int, int]:
    """Return how many boundaries of small parts are found, and how many there are."""
    share, ends = _shares(scenario), scenario.ends
    small = np.flatnonzero((share >= SMALL[0]) & (share < SMALL[1]))
    true_changes = np.unique(np.concatenate([small - 1, small]))
    true_changes = true_changes[(true_changes >= 0) & (true_changes < len(ends) - 1)]
    changes = result.end_s[:-1][np.diff(result.labels) != 0]
    tolerance_s = max(NEAR_S, NEAR_SAMPLES / scenario.rate_hz)
    hits = sum(
        bool(len(changes)) and float(np.abs(changes - ends[at]).min()) <= tolerance_s for at in true_changes.tolist()
    )
    return hits, len(true_changes)


def section(runs: Sequence[Sequence[Answer]]) -> list[str]:
    """Return the section of the page on truth."""
    if not runs:
        return []
    lines = [
        "## One run at several intervals",
        "",
        "Runs of 30 to 1 500 s drawn by `truth/timescales.py`: parts of 0.3 to 20 % of the run beside one or two",
        "long ones, with iterations of 5 ms to 100 s. The recordings of a run hold the same samples, in intervals of",
        "0.05 to 5 s. A part of less than 1 % may be a phase or not. *small parts*: boundaries of parts of 1 to 5 %",
        "found within 50 ms or two samples. *same*: against the answer at 0.05 s.",
        "",
    ]
    head = "| interval | runs | k right | ARI, mean | ARI, worst | small parts | same: ARI, mean | worst | same sites |"
    for split in SPLITS:
        of = [run for run in runs if run[0].split == split]
        if not of:
            continue
        lines += [f"### Several intervals: {'held out' if split == HELD else split}", "", head, "|" + "---|" * 9]
        lines += [_row([run[at] for run in of]) for at in range(len(INTERVALS))] + [""]
    return lines


def _row(answers: Sequence[Answer]) -> str:
    hits, total = (sum(answer.small[at] for answer in answers) for at in range(2))
    truth, same = ([getattr(answer, name) for answer in answers] for name in ("truth", "same"))
    cells = [
        f"{answers[0].interval_s:g} s",
        str(len(answers)),
        f"{np.mean([answer.k_right for answer in answers]):.0%}",
        f"{np.mean(truth):.3f}",
        f"{min(truth):.2f}",
        f"{hits} of {total}",
        f"{np.mean(same):.3f}",
        f"{min(same):.2f}",
        f"{np.mean([answer.same_sites for answer in answers]):.0%}",
    ]
    return "| " + " | ".join(cells).replace("%", " %") + " |"
