"""Runs of several ranks whose phases are known by construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from incprof.analysis.answer import find_phases
from incprof.analysis.features import build_features
from incprof.analysis.ranks.all_ranks import compare_ranks
from incprof.analysis.ranks.assign import assigned
from incprof.analysis.ranks.ranks_result import Part, RanksResult, RankSummary
from incprof.analysis.ranks.summary import modes_of, summarised
from incprof.analysis.thresholds import OPTIONS
from incprof.model import IntervalProfile
from tests.unit.streamwriter import Sample, StreamWriter

FUNCTIONS = ("main", "assemble", "solve", "output", "master")
# Call paths of each phase, and the ticks of an interval that each has.
MIXES: dict[str, dict[str, int]] = {
    "assemble": {"main;assemble": 85, "main;solve": 5},
    "solve": {"main;solve": 90, "main": 5},
    "output": {"main;output": 60, "main;output;solve": 20},
    "master": {"main;master": 70},
}
STORY = (("assemble", 15), ("solve", 20), ("assemble", 10), ("output", 15))


def write_rank(
    directory: Path,
    rank: int,
    story: Sequence[tuple[str, int]] = STORY,
    *,
    seed: int | None = None,
    mixes: Mapping[str, Mapping[str, int]] = MIXES,
    **metadata: object,
) -> None:
    """Write a rank that goes through phases, each for so many intervals; the noise of sampling is drawn from `seed`."""
    rng = np.random.default_rng(rank if seed is None else seed)
    rng_of_order = np.random.default_rng(rank)
    writer = StreamWriter(FUNCTIONS, rank=rank, **metadata)
    for phase, intervals in story:
        paths = list(mixes[phase])
        for _ in range(intervals):
            ticks = rng.poisson([mixes[phase][path] for path in paths]).tolist()
            order = rng_of_order.permutation(np.repeat(np.arange(len(paths)), ticks)).tolist()
            writer.interval([Sample(paths[at]) for at in order], arcs={("main", phase): 3})
    writer.end()
    writer.save(directory)


def summary_of(profile: IntervalProfile, rank: int = 0, **more: object) -> RankSummary:
    """Return the header of a rank."""
    return replace(summarised(profile, None, OPTIONS), rank=rank, **more)


def in_phases_of_first(profiles: Sequence[IntervalProfile]) -> RanksResult:
    """Ranks 0, 1, ..., all in the phases of the first."""
    result = find_phases(profiles[0])
    modes = modes_of(profiles[0], build_features(profiles[0], share=True), result, OPTIONS)
    told = [summary_of(profile, rank) for rank, profile in enumerate(profiles)]
    labels, _ = assigned(told, modes, OPTIONS.phases, (0, result.labels))
    return compare_ranks(told, labels, [Part(0)], result.k, rate_hz=100.0, interval_s=1.0)
