"""Runs whose phases are known, and heartbeats that tell of them: of the same run, or of one at another speed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site
from incprof.model import FloatArray, IntervalProfile
from incprof.systems.heartbeats.validation import Beats
from tests.unit.synthetic import make_profile

Story = list[tuple[int, float]]  # (phase, seconds) in order; -1: none


def recorded(
    story: Story, sites: Sequence[Sequence[tuple[int, str]]], *, interval_s: float = 1.0
) -> tuple[IntervalProfile, PhaseResult]:
    """A recording in which function i of phase p is on the CPU as long as p lasts, and its phases.

    Args:
        story: what happens.
        sites: for each phase its sites as (function, kind).
        interval_s: of the recording; the story's seconds are multiples of it.
    """
    labels = np.concatenate([[phase] * round(seconds / interval_s) for phase, seconds in story]).astype(np.int64)
    functions = 1 + max((f for own in sites for f, _ in own), default=0)
    own_s = np.zeros((len(labels), functions))
    for phase, own in enumerate(sites):
        for function, _ in own:
            own_s[labels == phase, function] = interval_s / len(own)
    profile = make_profile(own_s, interval_s=interval_s)
    ids = {key: number + 1 for number, key in enumerate(sorted({key for own in sites for key in own}))}
    phases = tuple(
        Phase(
            id=number,
            intervals=int((labels == number).sum()),
            app_pct=100 * float((labels == number).mean()),
            seconds=interval_s * int((labels == number).sum()),
            functions=(),
            sites=tuple(Site(ids[key], key[0], profile.functions[key[0]], key[1], 100.0, 1.0) for key in own),
        )
        for number, own in enumerate(sites)
    )
    clusters = np.maximum(labels, 0)
    result = PhaseResult(
        "robust", len(phases), len(phases), "user", {}, (), profile.end_s, labels, clusters, phases, 1.0, functions
    )
    return profile, result


def table(
    busy_s: FloatArray | Sequence[Sequence[float]],
    names: Sequence[str | None],
    *,
    interval_s: float = 1.0,
    mean_s: float = 1e-3,
    factors: Sequence[int] | None = None,
) -> Beats:
    """Heartbeats from the seconds that passed in them, (h, m), in beats of `mean_s`."""
    busy = np.asarray(busy_s, dtype=np.float64)
    factor = np.array([1] * len(busy) if factors is None else factors, dtype=np.int64)
    end = interval_s * np.arange(1, busy.shape[1] + 1)
    count = busy / mean_s
    return Beats(
        end - interval_s, end, tuple(range(1, len(busy) + 1)), tuple(names), factor,
        busy, count, count / factor[:, None], busy / factor[:, None], np.zeros_like(busy), busy > 0,
    )  # fmt: skip


def beaten(
    story: Story, heartbeats: Sequence[tuple[str | None, Sequence[int]]], *, interval_s: float = 1.0, **more: object
) -> Beats:
    """Heartbeats, each a name and the phases in which it beats all the time."""
    edges = np.concatenate([[0.0], np.cumsum([seconds for _, seconds in story])])
    ends = np.arange(1, int(np.ceil(edges[-1] / interval_s - 1e-9)) + 1) * interval_s
    busy = np.zeros((len(heartbeats), len(ends)))
    for (phase, _), low, high in zip(story, edges[:-1], edges[1:], strict=True):
        overlap = np.clip(np.minimum(ends, high) - np.maximum(ends - interval_s, low), 0, None)
        for place, (_, where) in enumerate(heartbeats):
            busy[place] += overlap * (phase in where)
    names = [name for name, _ in heartbeats]
    return table(busy, names, interval_s=interval_s, **more)  # type: ignore[arg-type]


def bodies(count: int) -> tuple[list[list[tuple[int, str]]], list[tuple[str | None, list[int]]]]:
    """A body site of its own for each of some phases, and the heartbeats for them."""
    return [[(p, "body")] for p in range(count)], [(f"f{p}:body", [p]) for p in range(count)]
