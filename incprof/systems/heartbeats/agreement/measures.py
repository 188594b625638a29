"""Measures of a comparison: confusion, agreement by chance, and statistics of each phase's heartbeats."""

from __future__ import annotations

import numpy as np

from incprof.analysis.heartbeats.phase_beats import Matched
from incprof.analysis.phase_result import PhaseResult
from incprof.model import FloatArray, IntArray
from incprof.systems.heartbeats.agreement.validation import SILENT, Beats, PhaseAgreement, Pieces, Timeline


def confusion(timeline: Timeline, phases: int) -> FloatArray:
    """Return seconds by recorded phase and by the phase indicated by heartbeats, (k, k + 1); last column: SILENT."""
    table = np.zeros((phases, phases + 1))
    use = timeline.compared
    column = np.where(timeline.named[use] == SILENT, phases, timeline.named[use])
    np.add.at(table, (timeline.label[use], column), timeline.seconds[use])
    return table


def by_class(table: FloatArray, classes: IntArray) -> FloatArray:
    """Sum phases of one class, (c, c + 1); phases without a class (-1) are not compared."""
    count = int(classes.max(initial=-1)) + 1
    small = np.zeros((count, count + 1))
    for phase, number in enumerate(classes.tolist()):
        if number >= 0:
            np.add.at(small[number], np.append(np.where(classes >= 0, classes, count), count), table[phase])
    return small


def kappa(table: FloatArray, classes: IntArray) -> float | None:
    """Return Cohen's kappa; None if only one phase (class) was recorded.

    Args:
        table: Result of `confusion`.
        classes: (k,) class of each phase.
    """
    small = by_class(table, classes)
    total = small.sum()
    recorded, named = small.sum(axis=1) / total, small.sum(axis=0)[:-1] / total
    if (recorded > 0).sum() < 2:
        return None
    chance = float((recorded * named).sum())
    reached = float(np.trace(small[:, :-1]) / total)
    return (reached - chance) / (1 - chance)


def balanced(table: FloatArray, classes: IntArray) -> float:
    """Return the mean recall of the recorded phases (classes): the share of their time that is correctly indicated."""
    small = by_class(table, classes)
    seconds = small.sum(axis=1)
    some = seconds > 0
    return float((np.diag(small[:, :-1])[some] / seconds[some]).mean())


def phase_measures(
    result: PhaseResult, beats: Beats, matched: Matched, pieces: Pieces, table: FloatArray, classes: IntArray
) -> tuple[PhaseAgreement, ...]:
    """Measure each phase by its heartbeats; table: result of `confusion`; classes: (k,) as for `kappa`."""
    label = np.where(pieces.recorded >= 0, result.labels[pieces.recorded], -1)
    owners = _owners(matched, len(beats.ids))
    parts = _parts(beats, pieces, label, len(result.phases))
    found = []
    for place, phase in enumerate(result.phases):
        own = list(matched.of_phase[place])
        mine = (label == place) & (pieces.beats >= 0)
        row = table[place]
        alike = np.flatnonzero(classes == classes[place]) if classes[place] >= 0 else np.array([place])
        spill_beats, spill_busy = (
            _spill(values[own] @ parts, owners[own]) for values in (beats.executed, beats.busy_s)
        )
        took = float(pieces.beat_seconds[mine].sum())
        within = parts[:, place]
        ended = float((beats.recorded[own] @ within).sum())
        found.append(
            PhaseAgreement(
                id=phase.id,
                seconds=phase.seconds,
                heartbeats=tuple(beats.ids[h] for h in own),
                missing=matched.missing[place],
                same_as=result.phases[int(alike[0])].id,
                recall=float(row[:-1][alike].sum() / row.sum()) if row.sum() > 0 else None,
                coverage=_mean(beats.present[own].max(axis=0).astype(np.float64), pieces, mine) if own else None,
                busy=_mean(_most_busy(beats, own), pieces, mine) if own else None,
                spill_beats=spill_beats,
                spill_busy=spill_busy,
                rate_hz=float((beats.executed[own] @ within).sum()) / took if own and took > 0 else None,
                mean_s=float((beats.sum_s[own] @ within).sum()) / ended if ended > 0 else None,
            )
        )
    return tuple(found)


def _owners(matched: Matched, heartbeats: int) -> FloatArray:
    """Return which heartbeat belongs to which phase: 1 or 0, (h, k)."""
    table = np.zeros((heartbeats, len(matched.of_phase)))
    for phase, own in enumerate(matched.of_phase):
        table[list(own), phase] = 1.0
    return table


def _parts(beats: Beats, pieces: Pieces, label: IntArray, phases: int) -> FloatArray:
    """Return the share of each interval of heartbeats that lies in each phase, (m, k)."""
    parts = np.zeros((len(beats.end_s), phases))
    use = (pieces.beats >= 0) & (label >= 0)
    where = pieces.beats[use]
    length = np.maximum(beats.length_s[where], 1e-9)
    np.add.at(parts, (where, label[use]), pieces.beat_seconds[use] / length)
    return parts


def _spill(amount: FloatArray, owners: FloatArray) -> float | None:
    """Return the share of heartbeats' activity, (h, k), in phases they do not belong to; transitions do not count."""
    total = float(amount.sum())
    return min(max(float((amount * (1 - owners)).sum()) / total, 0.0), 1.0) if total > 0 else None


def _most_busy(beats: Beats, own: list[int]) -> FloatArray:
    """Return the share of each interval in beats of the busiest of some heartbeats, (m,)."""
    share = beats.busy_s[own].max(axis=0, initial=0.0) / np.maximum(beats.length_s, 1e-9)
    within: FloatArray = np.minimum(share, 1.0)
    return within


def _mean(values: FloatArray, pieces: Pieces, mine: IntArray) -> float | None:
    """Return the mean over some pieces (p,) of values by interval of heartbeats (m,)."""
    seconds = pieces.seconds[mine]
    return float(np.average(values[pieces.beats[mine]], weights=seconds)) if seconds.sum() > 0 else None
