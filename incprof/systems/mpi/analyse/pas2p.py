"""The paper's phases of a run's communication: of each process (EPAS), or of all processes in one order (PAS2P)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.model import FloatArray, IntArray, by_first_appearance
from incprof.systems.mpi.analyse.event_phases import ProcessPhases, SelectedPhase, SignatureOptions, described
from incprof.systems.mpi.analyse.mpi_events import Partners, Work, logical_times

# Phases of one process as in EPAS: the local logical trace, cut where a type of communication recurs.
#
# The paper's Sections 4.2 and 4.3. An event's logical time is that of the previous event in its process plus one, so
# the ticks of a process are its events in order. A segment ends before the first tick whose type it already contains.
# It is the same phase as an earlier one if their types are equal, tick for tick, and their work is similar, tick for
# tick. n ticks, s segments.


# The paper's similarity of two ticks: the smaller amount of work over the larger one.
SIMILAR = 0.85


def segments_of(kinds: IntArray) -> IntArray:
    """Return the boundaries of segments, (s + 1,), in each of which no kind occurs twice. kinds: (n,) from 0."""
    n = len(kinds)
    order = np.argsort(kinds, kind="stable")
    before = np.full(n, -1, dtype=np.int64)
    again = kinds[order][1:] == kinds[order][:-1]
    before[order[1:][again]] = order[:-1][again]
    # A segment that begins at i ends before the first tick whose kind last occurred at i or later.
    end = np.searchsorted(np.maximum.accumulate(before), np.arange(n), side="left").tolist()
    boundaries, at = [0], 0
    while at < n:
        at = end[at]
        boundaries.append(at)
    return np.array(boundaries, dtype=np.int64)


def same_phase(
    kinds: IntArray, work: FloatArray, boundaries: IntArray, similar: float = SIMILAR, *, noisy: bool = False
) -> IntArray:
    """Return the phase of each segment, (s,), numbered from 0 by first appearance.

    Args:
        kinds: (n,) kinds of communication.
        work: (n, w) amounts of work before each event, of one process or of several; 0 without work.
        boundaries: (s + 1,) boundaries of segments.
        similar: Least ratio of two amounts that count as equal; two zeros do.
        noisy: Whether the work is a time: then occurrences are distinguished by its modes, not by single ratios.
    """
    first, length = boundaries[:-1], np.diff(boundaries)
    phase = np.full(len(first), -1, dtype=np.int64)
    same_kinds: dict[int, IntArray] = {}
    for size in np.unique(length).tolist():
        of_size = np.flatnonzero(length == size)
        rows = kinds[first[of_size][:, None] + np.arange(size)]
        _, which = np.unique(rows, axis=0, return_inverse=True)
        for group in range(int(which.max()) + 1):
            members = of_size[which.ravel() == group]
            same_kinds[int(members[0])] = members
    # A segment belongs to the first phase to which it is similar, or starts a new one.
    for members in same_kinds.values():
        remaining = members
        if noisy:
            place = first[members][:, None] + np.arange(int(length[members[0]]))
            which = modes(work[place].sum(axis=2), similar)
            _, opens = np.unique(which, return_index=True)
            phase[members] = members[opens][which]
            continue
        while len(remaining):
            place = first[remaining][:, None] + np.arange(int(length[remaining[0]]))
            is_similar = _similar(work[place], work[place[0]], similar)
            phase[remaining[is_similar]] = remaining[0]
            remaining = remaining[~is_similar]
    _, numbered = np.unique(phase, return_inverse=True)
    return numbered.ravel().astype(np.int64)


def _similar(work: FloatArray, pattern: FloatArray, least: float) -> np.ndarray:
    """Return which segments, (s, ticks, w), have similar work to another one, (ticks, w), in every tick."""
    less, more = np.minimum(work, pattern), np.maximum(work, pattern)
    return np.asarray((less >= least * more).all(axis=(1, 2)))


def epas(
    kinds: IntArray, work: FloatArray, similar: float = SIMILAR, *, noisy: bool = False
) -> tuple[IntArray, IntArray]:
    """Return the boundaries of segments, (s + 1,), and the phase of each, (s,). See `same_phase`."""
    boundaries = segments_of(kinds)
    return boundaries, same_phase(kinds, work, boundaries, similar, noisy=noisy)


# Greatest height of a valley, as a share of the lower of the two peaks next to it, and the least number of standard
# deviations by which its count is lower.
DEPTH = 0.5
DEVIATIONS = 4.0
# Bins per factor of one similarity, and the smoothing kernel of their counts.
BINS = 4
WINDOW = np.array([1.0, 2.0, 3.0, 2.0, 1.0])
FEWEST = 8
# Least share of the occurrences on either side of a valley: fewer are outliers.
LEAST = 0.05
# Window of the running median, which is searched too: a lasting phase stands out from its noise.
AROUND = 9


def modes(work: FloatArray, similar: float) -> IntArray:
    """Return the group of each occurrence, (m,), numbered from 0 by first appearance.

    Args:
        work: (m, t) work before the ticks of each occurrence.
        similar: Least ratio of two amounts that count as equal.
    """
    group = np.zeros(len(work), dtype=np.int64)
    pending, count = [np.arange(len(work))], 1
    while pending:
        members = pending.pop()
        parted = _split_at_valley(work[members], similar)
        if parted is not None:
            group[members[parted]] = count
            count += 1
            pending += [members[~parted], members[parted]]
    return by_first_appearance(group)


def _split_at_valley(work: FloatArray, similar: float) -> np.ndarray | None:
    """Return which occurrences, (m,), are above the deepest valley of any tick or of the sum; None without a valley."""
    total = work.sum(axis=1)
    best, upper = 0.0, None
    for amount in (total, *work.T):
        for smoothed, width in ((amount, 1), (_running_median(amount), AROUND)):
            valley, depth = _valley(smoothed, similar)
            # Overlapping medians are not independent.
            depth /= np.sqrt(width)
            above = smoothed > valley
            fewer = min(int(above.sum()), int((~above).sum()))
            if depth <= max(best, DEVIATIONS) or fewer < LEAST * len(above):
                continue
            low, high = float(np.median(amount[~above])), float(np.median(amount[above]))
            # Amounts whose sums are similar, by the paper's ratio, are the same phase.
            if high - low > (1.0 - similar) * float(np.median(total[above])):
                best, upper = depth, above
    return upper


def _running_median(amount: FloatArray) -> FloatArray:
    """Return the running median over neighbouring occurrences, (m,)."""
    if len(amount) < AROUND:
        return amount
    padded = np.pad(amount, AROUND // 2, mode="reflect")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, AROUND), axis=1))


def _valley(amount: FloatArray, similar: float) -> tuple[float, float]:
    """Return the amount at the deepest valley, and its depth in standard deviations; 0 without a valley."""
    positive = amount[amount > 0]
    if len(positive) < FEWEST or not 0.0 < similar < 1.0:
        return 0.0, 0.0
    width = -np.log(similar) / BINS
    place = np.floor(np.log(positive) / width).astype(np.int64)
    low = int(place.min())
    counts = np.bincount(place - low)
    smooth = np.convolve(np.pad(counts, len(WINDOW)), WINDOW / WINDOW.max(), mode="same")
    left, right = np.maximum.accumulate(smooth), np.maximum.accumulate(smooth[::-1])[::-1]
    lower = np.minimum(left, right)
    depth = (lower - smooth) / np.sqrt(np.maximum(lower + smooth, 1.0))
    depth[smooth > DEPTH * lower] = 0.0
    # Of a wide valley, the middle is used.
    deepest = np.flatnonzero(depth >= depth.max())
    at = deepest[len(deepest) // 2] - len(WINDOW) + low + 0.5
    return float(np.exp(at * width)), float(depth.max())


# The paper's phases: of each process by itself (EPAS), or of all processes in one logical order (PAS2P).
#
# The paper: Section 4.2 to 4.4; PAS2P's order: its reference [24]. n events of a process, t ticks, P processes, s
# segments.


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
    boundaries, phase = _phases(kinds, work.from_least[:, None], options, noisy=not work.is_counted)
    return _of_segments(kinds, tick_s, aet_s, boundaries, phase, options)


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
    boundaries, phase = _phases(tick.ravel().astype(np.int64), amount, options, noisy=noisy)
    phases = []
    for number, time in enumerate(times):
        # The first of its events in each segment.
        own = np.searchsorted(time - 1, boundaries)
        phases.append(_of_segments(kinds[number], tick_s[number], aet_s[number], own, phase, options))
    return phases


def _phases(kinds: IntArray, work: FloatArray, options: SignatureOptions, *, noisy: bool) -> tuple[IntArray, IntArray]:
    """Return the boundaries of segments and the phase of each. A ratio given by the user is applied literally."""
    if options.similar is not None:
        return epas(kinds, work, options.similar)
    return epas(kinds, work, noisy=noisy)


def _of_segments(
    kinds: IntArray, tick_s: FloatArray, aet_s: float, boundaries: IntArray, phase: IntArray, options: SignatureOptions
) -> ProcessPhases:
    """Select phases with a sufficient share of the run: weight times time of one. boundaries: (s + 1,); phase: (s,)."""
    until = np.concatenate([[0.0], np.cumsum(tick_s)])
    seconds = np.bincount(phase, weights=np.diff(until[boundaries]), minlength=int(phase.max(initial=-1)) + 1)
    relevant = np.flatnonzero(seconds >= options.relevant * aet_s)
    place = np.full(len(seconds) + 1, -1, dtype=np.int64)
    place[relevant] = np.arange(len(relevant))
    label = np.repeat(place[phase], np.diff(boundaries))
    selected = [SelectedPhase(boundaries[:-1][phase == one], boundaries[1:][phase == one]) for one in relevant.tolist()]
    return described(kinds, tick_s, aet_s, label, selected)
