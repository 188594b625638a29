"""The phases of a running job according to the last fit, and the assignment of new intervals to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.phase_thresholds import PHASES
from incprof.model import FloatArray, IntArray
from incprof.systems.live.analyse.mixes import Mix

# Labels of intervals in no phase: transitions or too short, and unlike anything before.
BETWEEN, NEW = -1, -2
# An interval fits a phase if its distance from the center is not much greater than that of nearly all its intervals,
WIDTH, MEMBERS = 1.5, 0.95
# or than explained by counting samples, or is very small.
NOISE, CLOSE = 3.0, 0.1
# An interval is a transition if it is a mixture of two phases, with at least this share of each.
MIXED = 0.1


@dataclass(frozen=True)
class PhaseModel:
    """k phases.

    Attributes:
        ids: (k,) numbers shown to the user.
        centers: (k, d) mean shares, by the columns of a Mix.
        reach: (k,) radius of each phase around its center.
        scatter: (k,) expected squared distance for one sample.
        off_cpu: Id of the phase in which the program waits.
        yardstick: Ticks of a usual interval.
    """

    ids: IntArray
    centers: FloatArray
    reach: FloatArray
    scatter: FloatArray
    off_cpu: int | None
    yardstick: float

    def label(self, mix: Mix) -> int:
        """Return the id of an interval's phase, BETWEEN or NEW."""
        if mix.ticks <= 0 or mix.ticks < PHASES.idle * self.yardstick:
            return BETWEEN if self.off_cpu is None else self.off_cpu
        if not len(self.ids):
            return NEW
        known = mix.columns < self.centers.shape[1]
        dots = self.centers[:, mix.columns[known]] @ mix.shares[known]
        squares = np.einsum("kd,kd->k", self.centers, self.centers)
        distance = np.maximum(float(mix.shares @ mix.shares) - 2 * dots + squares, 0.0)
        limit = self._limit(mix.ticks)
        nearest = int(np.argmin(distance))
        if distance[nearest] <= limit[nearest]:
            return int(self.ids[nearest])
        return BETWEEN if self._mixed(nearest, distance, dots, limit) else NEW

    def _limit(self, ticks: float) -> FloatArray:
        """Return the greatest squared distance at which an interval fits each phase, (k,)."""
        noise = NOISE**2 * self.scatter / max(ticks, 1.0)
        limit: FloatArray = np.maximum(np.maximum(noise, (WIDTH * self.reach) ** 2), CLOSE**2)
        return limit

    def _mixed(self, a: int, distance: FloatArray, dots: FloatArray, limit: FloatArray) -> bool:
        """Return whether an interval is a mixture of its nearest phase and another one."""
        gram = self.centers @ self.centers[a]
        apart = np.einsum("kd,kd->k", self.centers, self.centers) + gram[a] - 2 * gram
        along = np.divide(dots - dots[a] - gram + gram[a], apart, out=np.zeros_like(apart), where=apart > 0)
        off = distance[a] - along**2 * apart
        return bool(((along >= MIXED) & (along <= 1 - MIXED) & (off <= limit[a])).any())


NOTHING_KNOWN = PhaseModel(
    np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0), np.zeros(0), None, 0.0
)  # fmt: skip


def fit_model(
    rows: Sequence[Mix], labels: IntArray, off_cpu: int | None, expected_ticks: float, dispersion: float
) -> PhaseModel:
    """Return the model of labelled intervals.

    labels: (n,) ids, negative for none. expected_ticks: of an interval of one busy thread. dispersion: scatter of the
    intervals relative to that of tick counting; 1: no more than that.
    """
    ids = np.array([i for i in np.unique(labels).tolist() if i >= 0 and i != off_cpu], dtype=np.int64)
    width = max((int(row.columns.max(initial=-1)) + 1 for row in rows), default=0)
    centers, reach = np.zeros((len(ids), width)), np.zeros(len(ids))
    for place, number in enumerate(ids.tolist()):
        members = [rows[i] for i in np.flatnonzero(labels == number).tolist() if rows[i].ticks > 0]
        for row in members:
            centers[place, row.columns] += row.shares / len(members)
        reach[place] = _reach(centers[place], members)
    scatter = max(dispersion, 1.0) * (centers * (1 - centers)).sum(axis=1)
    busy = np.array([row.ticks for row in rows if row.ticks > 0])
    yardstick = min(expected_ticks, float(np.median(busy))) if len(busy) else 0.0
    return PhaseModel(ids, centers, reach, scatter, off_cpu, yardstick)


def with_retired(model: PhaseModel, before: PhaseModel, alive: frozenset[int]) -> PhaseModel:
    """Return the model with the phases of an earlier one that did not occur recently, but may recur.

    alive: ids that intervals still have.
    """
    gone = [i for i, number in enumerate(before.ids.tolist()) if number in alive and number not in model.ids]
    width = max(model.centers.shape[1], before.centers.shape[1])
    centers = np.concatenate([_widened(model.centers, width), _widened(before.centers[gone], width)])
    off_cpu = before.off_cpu if model.off_cpu is None and before.off_cpu in alive else model.off_cpu
    return PhaseModel(
        np.concatenate([model.ids, before.ids[gone]]),
        centers,
        np.concatenate([model.reach, before.reach[gone]]),
        np.concatenate([model.scatter, before.scatter[gone]]),
        off_cpu,
        model.yardstick,
    )


def _reach(center: FloatArray, members: Sequence[Mix]) -> float:
    """Return the radius around the center that contains nearly all members."""
    if not members:
        return 0.0
    square = float(center @ center)
    distance = [float(r.shares @ r.shares) - 2 * float(center[r.columns] @ r.shares) + square for r in members]
    return float(np.sqrt(max(np.quantile(distance, MEMBERS), 0.0)))


def _widened(centers: FloatArray, width: int) -> FloatArray:
    """Return the centers, padded with zeros to `width` columns."""
    return np.pad(centers, ((0, 0), (0, width - centers.shape[1])))
