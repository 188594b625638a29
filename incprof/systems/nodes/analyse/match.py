"""Find the known application that a run resembles so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.systems.nodes.analyse.align import Alignment, align
from incprof.systems.nodes.analyse.node_states import KnownRun, Stretch

# Less similarity than this is not a match.
MATCHES = 0.8
PACES = 3


@dataclass(frozen=True)
class Match:
    """Similarity of a run to the known runs of one application.

    Attributes:
        application: Name of the application.
        similarity: Similarity to the most similar of its runs, from 0 to 1.
        pace: Ratio of segment lengths to those of that run.
        done: Share of that run that has passed.
    """

    application: str
    similarity: float
    pace: float
    done: float

    @property
    def matches(self) -> bool:
        """Whether the similarity is sufficient."""
        return self.similarity >= MATCHES


def match(stretches: Sequence[Stretch], runs: Sequence[KnownRun]) -> tuple[Match, ...]:
    """Compare the beginning of a run with all known runs; the best of each application, the most similar first."""
    best: dict[str, Match] = {}
    for run in runs:
        found = _against(stretches, run)
        if run.application not in best or found.similarity > best[run.application].similarity:
            best[run.application] = found
    return tuple(sorted(best.values(), key=lambda each: (-each.similarity, each.application)))


def _against(stretches: Sequence[Stretch], run: KnownRun) -> Match:
    """Align with one run, at the pace estimated from the alignment itself."""
    seconds = np.array([stretch.seconds for stretch in stretches])
    known = np.array([stretch.seconds for stretch in run.stretches])
    state, of = (np.array([each.state for each in part]) for part in (stretches, run.stretches))
    unlike = (state[:, None] != of).astype(np.float64)
    pace, found = 1.0, Alignment((), 0, 0.0)
    for _ in range(PACES):
        aligned = align(seconds, known * pace, unlike)
        if aligned.similarity <= found.similarity:
            break
        found = aligned
        closed = [np.log(seconds[i] / known[j]) for i, j in found.pairs if not unlike[i, j] and i < len(seconds) - 1]
        last_pace, pace = pace, float(np.exp(np.median(closed))) if closed else pace
        if pace == last_pace:
            break
    done = float(known[: found.end].sum() / known.sum()) if len(known) else 0.0
    return Match(run.application, found.similarity, pace, done)
