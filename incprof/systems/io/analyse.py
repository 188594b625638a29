"""What each phase reads and writes. r rows, n intervals, k phases, b bins, m amounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.phase_result import PhaseResult
from incprof.model import FloatArray, IntervalProfile
from incprof.systems.io.read import CANCELLED, FROM_STORAGE, READ, READS, TO_STORAGE, WRITES, WRITTEN, Totals

# Rows with next to nothing else in them show a phase's own rate.
ALONE = 0.999


@dataclass(frozen=True)
class PhaseIo:
    """What a phase reads and writes.

    Attributes:
        id: of the phase.
        seconds: of the phase.
        read_b: bytes that calls read.
        written_b: bytes that calls wrote.
        reads: number of calls.
        writes: number of calls.
        from_storage_b: bytes fetched from storage, by page faults too.
        to_storage_b: bytes of pages made dirty, without those deleted before they were written.
        divided: share of the bytes in rows of several phases, divided among these.
    """

    id: int
    seconds: float
    read_b: float
    written_b: float
    reads: float
    writes: float
    from_storage_b: float
    to_storage_b: float
    divided: float

    @property
    def operations(self) -> float:
        """Number of calls that read or write."""
        return self.reads + self.writes


def io_by_phase(totals: Totals, profile: IntervalProfile, result: PhaseResult) -> list[PhaseIo]:
    """Return what each phase has read and written."""
    labels = np.where(result.labels < 0, result.k, result.labels)
    inside = overlaps(totals.start_s, totals.end_s, profile.start_s, profile.end_s, labels, result.k + 1)
    amounts, shared = divided(totals.values, totals.end_s - totals.start_s, inside)
    found = []
    for phase in result.present:
        own, part = amounts[phase.id], shared[phase.id]
        both, both_shared = own[READ] + own[WRITTEN], part[READ] + part[WRITTEN]
        found.append(
            PhaseIo(
                id=phase.id,
                seconds=phase.seconds,
                read_b=float(own[READ]),
                written_b=float(own[WRITTEN]),
                reads=float(own[READS]),
                writes=float(own[WRITES]),
                from_storage_b=float(own[FROM_STORAGE]),
                to_storage_b=float(max(own[TO_STORAGE] - own[CANCELLED], 0.0)),
                divided=float(both_shared / both) if both > 0 else 0.0,
            )
        )
    return found


def divided(amounts: FloatArray, row_s: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide the amounts of rows among phases; all of a row with some time in phases is assigned, and none twice.

    In a row of several phases, each has its time at the rate of its own rows, in proportion: a row may be longer than
    a phase. Phases without a row of their own are assumed to have the row's rate.

    Args:
        amounts: (r, m).
        row_s: (r,) lengths.
        inside: (k, r) seconds of each row in each phase.

    Returns:
        The amounts of each phase (k, m), and the part of these in rows of several phases.
    """
    seconds = inside.sum(axis=0)
    whole = np.maximum(seconds, 1e-12)
    alone = inside >= ALONE * whole
    rates = amounts / whole[:, None]
    found = np.zeros((len(inside), amounts.shape[1]))
    shared = np.zeros_like(found)
    for column in range(amounts.shape[1]):
        usual = [
            float(amounts[own, column].sum() / inside[phase, own].sum()) if inside[phase, own].sum() > 0 else np.nan
            for phase, own in enumerate(alone & (inside > 0))
        ]
        expected = inside * np.where(np.isfinite(usual)[:, None], np.array(usual)[:, None], rates[:, column])
        total = expected.sum(axis=0)
        # Where no phase is known to read or write, time decides.
        weight = np.where(total > 0, expected / np.where(total > 0, total, 1.0), inside / whole)
        part = weight * np.where(seconds > 0, amounts[:, column], 0.0)
        found[:, column] = part.sum(axis=1)
        shared[:, column] = np.where(alone, 0.0, part).sum(axis=1)
    return found, shared


def rates_over_time(totals: Totals, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return bytes read and written per second in bins, (2, b); NaN outside of what was recorded.

    Args:
        totals: r rows.
        start_s: (b,) seconds since the start of the run.
        end_s: (b,) likewise.
    """
    found = np.full((2, len(start_s)), np.nan)
    if not len(totals.end_s):
        return found
    edges = np.concatenate([totals.start_s[:1], totals.end_s])
    known = (end_s > edges[0]) & (start_s < edges[-1])
    length = np.maximum(end_s - start_s, 1e-9)
    for at, column in enumerate((READ, WRITTEN)):
        so_far = np.concatenate([[0.0], np.cumsum(totals.values[:, column])])
        found[at, known] = ((np.interp(end_s, edges, so_far) - np.interp(start_s, edges, so_far)) / length)[known]
    return found
