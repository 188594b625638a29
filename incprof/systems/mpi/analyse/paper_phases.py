"""The paper's phases: of each process by itself (EPAS), or of all processes in one logical order (PAS2P).

The paper: Section 4.2 to 4.4; PAS2P's order: its reference [24]. n events of a process, t ticks, P processes,
s segments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.epas import epas
from incprof.systems.mpi.analyse.event_phases import ProcessPhases, SignatureOptions
from incprof.systems.mpi.analyse.logical_order import Partners, logical_times
from incprof.systems.mpi.analyse.mpi_events import Work
from incprof.systems.mpi.analyse.robust_phases import Taken, described


def paper_phases(
    kinds: IntArray, work: Work, tick_s: FloatArray, aet_s: float, options: SignatureOptions
) -> ProcessPhases:
    """Find the phases of one process, independent of the others.

    Args:
        kinds: (n,) types of communication, from 0.
        work: Work before each event.
        tick_s: (n,) seconds from the end of the previous event to the end of this one.
        aet_s: Time of the whole run, in seconds.
        options: Thresholds.
    """
    borders, phase = _phases(kinds, work.from_least[:, None], options, noisy=not work.is_counted)
    return _of_segments(kinds, tick_s, aet_s, borders, phase, options)


def global_phases(
    kinds: Sequence[IntArray],
    work: Sequence[Work],
    tick_s: Sequence[FloatArray],
    partners: Sequence[Partners],
    aet_s: Sequence[float],
    options: SignatureOptions,
) -> list[ProcessPhases]:
    """Find the phases of all processes together. Arguments as for `paper_phases`, for each process."""
    times = logical_times(partners)
    most = max((int(time[-1]) for time in times if len(time)), default=0)
    # A tick combines all processes at one logical time: kinds (t, P), -1 for nothing, and work (t, P).
    row, amount = np.full((most, len(times)), -1, dtype=np.int64), np.zeros((most, len(times)))
    for number, time in enumerate(times):
        row[time - 1, number], amount[time - 1, number] = kinds[number], work[number].from_least
    _, tick = np.unique(row, axis=0, return_inverse=True)
    noisy = not all(one.is_counted for one in work)
    borders, phase = _phases(tick.ravel().astype(np.int64), amount, options, noisy=noisy)
    found = []
    for number, time in enumerate(times):
        # The first of its events in each segment.
        own = np.searchsorted(time - 1, borders)
        found.append(_of_segments(kinds[number], tick_s[number], aet_s[number], own, phase, options))
    return found


def _phases(kinds: IntArray, work: FloatArray, options: SignatureOptions, *, noisy: bool) -> tuple[IntArray, IntArray]:
    """Return the boundaries of segments and the phase of each. A ratio given by the user is applied literally."""
    if options.similar is not None:
        return epas(kinds, work, options.similar)
    return epas(kinds, work, noisy=noisy)


def _of_segments(
    kinds: IntArray, tick_s: FloatArray, aet_s: float, borders: IntArray, phase: IntArray, options: SignatureOptions
) -> ProcessPhases:
    """Select phases with a sufficient share of the run: weight times time of one. borders: (s + 1,); phase: (s,)."""
    until = np.concatenate([[0.0], np.cumsum(tick_s)])
    seconds = np.bincount(phase, weights=np.diff(until[borders]), minlength=int(phase.max(initial=-1)) + 1)
    relevant = np.flatnonzero(seconds >= options.relevant * aet_s)
    place = np.full(len(seconds) + 1, -1, dtype=np.int64)
    place[relevant] = np.arange(len(relevant))
    label = np.repeat(place[phase], np.diff(borders))
    found = [Taken(borders[:-1][phase == one], borders[1:][phase == one]) for one in relevant.tolist()]
    return described(kinds, tick_s, aet_s, label, found)
