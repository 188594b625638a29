"""What each phase reads and writes. r rows, c counts, e events, n intervals, k phases, b bins, m amounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.energy import overlaps
from incprof.analysis.phase_result import PhaseResult
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.systems.io.read import (
    BYTES,
    CALLS,
    CANCELLED,
    FROM_STORAGE,
    METADATA,
    MPI_IO,
    NO_FILE,
    OF_READING,
    OF_WRITING,
    OPERATIONS,
    OTHER_FILES,
    READ,
    READS,
    RECEIVE,
    SECONDS,
    SEND,
    SMALL,
    SYNC,
    TO_STORAGE,
    WRITES,
    WRITTEN,
    Calls,
    Totals,
)

# Rows with next to nothing else in them show a phase's own rate.
ONE_PHASE = 0.999
# Below this part of an interval's bytes, a phase has moved none of them.
NOTHING = 0.01
# The values of what is read, and of what is written.
READING, WRITING = (READ, READS, FROM_STORAGE), (WRITTEN, WRITES, TO_STORAGE, CANCELLED)
MOST_FILES = 5
OTHER_FUNCTIONS = "other functions of MPI"


@dataclass(frozen=True)
class FileIo:
    """What a phase reads from a file and writes to it.

    Attributes:
        name: of the file; None: of all files beyond the number of names that are kept.
        read_b: bytes.
        written_b: bytes.
        calls: that read, write, seek or synchronise.
        seconds: estimated time in these.
    """

    name: str | None
    read_b: float
    written_b: float
    calls: float
    seconds: float

    @property
    def moved_b(self) -> float:
        """Number of bytes read and written."""
        return self.read_b + self.written_b


@dataclass(frozen=True)
class MpiIo:
    """What a phase does with files by a function of MPI.

    Attributes:
        name: of the function.
        calls: number.
        moved_b: bytes read and written by the calls below it on the same thread.
        seconds: in it, with the communication for it.
    """

    name: str
    calls: float
    moved_b: float
    seconds: float


@dataclass(frozen=True)
class PhaseCalls:
    """The calls of a phase that read and write, of all threads.

    Attributes:
        seconds: estimated time in all of them.
        sync_s: of this, waiting until storage has the data.
        metadata_s: of this, in calls that move no data, without sync_s.
        by_operation: number of calls, by their names in OPERATIONS.
        transfers: number of calls that move data.
        small: of these, calls that moved less than 4 KiB.
        received_b: bytes from the network.
        sent_b: bytes to the network.
        files: with the largest shares of the time or of the bytes, at most MOST_FILES.
        file_count: number of files that data was moved from or to.
        sampled: indices of the events in this phase.
        mpi: functions of MPI that work on files, with the most time first; their calls of the system are in all others.
    """

    seconds: float
    sync_s: float
    metadata_s: float
    by_operation: dict[str, float]
    transfers: float
    small: float
    received_b: float
    sent_b: float
    files: tuple[FileIo, ...]
    file_count: int
    sampled: IntArray
    mpi: tuple[MpiIo, ...] = ()


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
        calls: what was recorded with --io; None: nothing.
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
    calls: PhaseCalls | None = None


def io_by_phase(totals: Totals, calls: Calls | None, profile: IntervalProfile, result: PhaseResult) -> list[PhaseIo]:
    """Return what each phase has read and written."""
    labels = np.where(result.labels < 0, result.k, result.labels)
    inside = overlaps(totals.start_s, totals.end_s, profile.start_s, profile.end_s, labels, result.k + 1)
    sampled_bytes = (
        None
        if calls is None
        else bytes_of_sampled_calls(totals, calls, phase_at(calls.event_s, profile, labels, result.k), result.k)
    )
    amounts, shared, moved = divided(totals.values, inside, sampled_bytes)
    each = {} if calls is None else calls_by_phase(calls, profile, labels, result.k, (totals.end_s, moved))
    out = []
    for phase in result.present:
        own, part = amounts[phase.id], shared[phase.id]
        both, both_shared = own[READ] + own[WRITTEN], part[READ] + part[WRITTEN]
        out.append(
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
                calls=each.get(phase.id),
            )
        )
    return out


def divided(
    amounts: FloatArray, inside: FloatArray, sampled_weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Divide the totals of rows among phases; all of a row with some time in phases is assigned, and none twice.

    In a row of several phases, sampled calls decide where there are any. Else each phase has its time at the rate of
    its own rows, in proportion: a row may be longer than a phase. Phases without a row of their own are assumed to
    have the row's rate. What storage has to do is divided as the bytes of calls are, if there are any.

    Args:
        amounts: (r, VALUES) of a process.
        inside: (k, r) seconds of each row in each phase.
        sampled_weights: (2, k, r) bytes of sampled calls that read, and that write.

    Returns:
        The amounts of each phase (k, VALUES), the part of these in rows of several phases that only time divides, and
        the bytes read and written by each phase in each row (2, k, r).
    """
    covered_s = np.maximum(inside.sum(axis=0), 1e-12)
    in_one_phase = inside >= ONE_PHASE * covered_s
    in_phases = inside.sum(axis=0) > 0
    out = np.zeros((len(inside), amounts.shape[1]))
    shared = np.zeros_like(out)
    moved = np.zeros((2, *inside.shape))
    for at, columns in enumerate((READING, WRITING)):
        sampled = np.zeros_like(inside) if sampled_weights is None else np.where(inside > 0, sampled_weights[at], 0.0)
        is_sampled = (sampled.sum(axis=0) > 0) & ~in_one_phase.any(axis=0)
        first = None
        for column in columns:
            weight = _weights(amounts[:, column], covered_s, inside, in_one_phase)
            if first is not None and column >= FROM_STORAGE:
                weight = np.where(amounts[:, columns[0]] > 0, first, weight)
            weight = np.where(is_sampled, sampled / np.maximum(sampled.sum(axis=0), 1e-12), weight)
            first = weight if first is None else first
            part = weight * np.where(in_phases, amounts[:, column], 0.0)
            out[:, column] = part.sum(axis=1)
            shared[:, column] = np.where(in_one_phase | is_sampled, 0.0, part).sum(axis=1)
            if column == columns[0]:
                moved[at] = part
    return out, shared, moved


def _weights(amounts: FloatArray, covered_s: FloatArray, inside: FloatArray, in_one_phase: BoolArray) -> FloatArray:
    """Return the share of each phase in each row, (k, r), by the rates of rows that lie in one phase."""
    own = in_one_phase & (inside > 0)
    seconds = np.where(own, inside, 0.0).sum(axis=1)
    usual = np.divide((own * amounts).sum(axis=1), seconds, out=np.full(len(inside), np.nan), where=seconds > 0)
    expected = inside * np.where(np.isfinite(usual)[:, None], usual[:, None], amounts / covered_s)
    total = expected.sum(axis=0)
    # Where no phase is known to read or write, time decides.
    return np.where(total > 0, expected / np.where(total > 0, total, 1.0), inside / covered_s)


def phase_at(time_s: FloatArray, profile: IntervalProfile, labels: IntArray, k: int) -> IntArray:
    """Return the phase at each of some times, k for none.

    Args:
        time_s: (e,) seconds since the start of the run.
        profile: n intervals.
        labels: (n,) their phases, k for none.
        k: number of phases.
    """
    at = np.searchsorted(profile.end_s, time_s, side="left")
    inside = (at < len(labels)) & (time_s >= profile.start_s[np.minimum(at, len(labels) - 1)])
    phase: IntArray = np.where(inside, labels[np.minimum(at, len(labels) - 1)], k).astype(np.int64)
    return phase


def bytes_of_sampled_calls(totals: Totals, calls: Calls, phase: IntArray, k: int) -> FloatArray:
    """Return the bytes that sampled calls stand for in each row, (2, k + 1, r): read, and written. phase: (e,)."""
    out = np.zeros((2, k + 1, len(totals.end_s)))
    row = np.searchsorted(totals.end_s, calls.event_s, side="left")
    for at, operations in enumerate((OF_READING, OF_WRITING)):
        use = np.isin(calls.event_operation, operations) & (row < len(totals.end_s))
        np.add.at(out[at], (phase[use], row[use]), (calls.weight * calls.event_bytes)[use])
    return out


def calls_by_phase(
    calls: Calls,
    profile: IntervalProfile,
    labels: IntArray,
    k: int,
    rows: tuple[FloatArray, FloatArray] | None = None,
) -> dict[int, PhaseCalls]:
    """Return the calls of each phase, by its number.

    Counts are of an interval; its sampled calls of the same kind decide what part of them is in which phase, and time
    where there are none. A phase in which the process has read or written nothing has no such calls.

    Args:
        calls: what was recorded.
        profile: n intervals.
        labels: (n,) their phases, k for none.
        k: number of phases.
        rows: (r,) ends of the rows of the process's totals, and bytes read and written in each, (2, k + 1, r).
    """
    phase = phase_at(calls.event_s, profile, labels, k)
    shares = _shares(calls, profile, labels, k, phase)
    if rows is not None:
        shares = _restricted(shares, calls, *rows)
    keys, which = np.unique(calls.file * len(OPERATIONS) + calls.operation, return_inverse=True)
    sums = np.zeros((k + 1, len(keys), calls.values.shape[1]))
    for number in range(k + 1):
        np.add.at(sums[number], which.ravel(), calls.values * shares[:, :, number])
    file, operation = keys // len(OPERATIONS), keys % len(OPERATIONS)
    return {
        number: _phase_calls(calls.names, file, operation, sums[number], np.flatnonzero(phase == number))
        for number in range(k)
    }


def _shares(calls: Calls, profile: IntervalProfile, labels: IntArray, k: int, phase: IntArray) -> FloatArray:
    """Return the share of each value of each count in each phase, (c, 5, k + 1)."""
    start_s, first, interval = np.unique(calls.start_s, return_index=True, return_inverse=True)
    end_s = calls.end_s[first]
    inside = overlaps(start_s, end_s, profile.start_s, profile.end_s, labels, k + 1).T
    by_time = (inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12))[interval.ravel()]
    size = (int(calls.file.max()) + 1) * len(OPERATIONS)
    keys = interval.ravel() * size + calls.file * len(OPERATIONS) + calls.operation
    order, place = np.unique(keys, return_inverse=True)
    at = np.minimum(np.searchsorted(end_s, calls.event_s, side="left"), len(end_s) - 1)
    wanted_keys = at * size + calls.event_file * len(OPERATIONS) + calls.event_operation
    place_of = np.minimum(np.searchsorted(order, wanted_keys), len(order) - 1)
    use = (order[place_of] == wanted_keys) & (calls.event_file * len(OPERATIONS) < size)
    amounts = (calls.weight, calls.weight * calls.event_bytes, calls.weight * calls.event_duration_s)
    tables = [_summed(place_of[use], phase[use], amount[use], (len(order), k + 1))[place.ravel()] for amount in amounts]
    by_calls = _normalised(tables[0], by_time)
    by_value = {BYTES: _normalised(tables[1], by_calls), SECONDS: _normalised(tables[2], by_calls)}
    return np.stack([by_value.get(value, by_calls) for value in range(calls.values.shape[1])], axis=1)


def _restricted(shares: FloatArray, calls: Calls, row_end_s: FloatArray, moved: FloatArray) -> FloatArray:
    """Return the shares (c, 5, k + 1) without phases that have moved nothing in the interval of the count."""
    end_s, interval = np.unique(calls.end_s, return_inverse=True)
    at = np.minimum(np.searchsorted(end_s, row_end_s, side="left"), len(end_s) - 1)
    out = shares.copy()
    out[calls.operation == MPI_IO] = 0.0  # they move what the calls below them do
    both = (*moved, moved.sum(axis=0))
    for way, operations in zip(both, (OF_READING, OF_WRITING, (MPI_IO,)), strict=True):
        sums = np.zeros((len(end_s), len(way)))
        np.add.at(sums, at, way.T)
        of_count = sums[interval.ravel()]
        total = of_count.sum(axis=1, keepdims=True)
        use = np.isin(calls.operation, operations) & (total[:, 0] > 0)
        has_moved = (of_count >= NOTHING * total)[use][:, None, :]
        left = out[use] * has_moved
        part = of_count[use] / total[use]
        sum_left = left.sum(axis=2, keepdims=True)
        out[use] = np.where(sum_left > 0, left / np.where(sum_left > 0, sum_left, 1.0), part[:, None, :])
    lost = out.sum(axis=2, keepdims=True) <= 0  # calls of MPI in intervals without bytes
    return np.where(lost, shares, out)


def _summed(row: IntArray, column: IntArray, amount: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return a table of sums of amounts."""
    table = np.zeros(shape)
    np.add.at(table, (row, column), amount)
    return table


def _normalised(table: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return the rows of a table with a sum of 1; those of another one where they are empty."""
    total = table.sum(axis=1, keepdims=True)
    normalised: FloatArray = np.where(total > 0, table / np.where(total > 0, total, 1.0), otherwise)
    return normalised


def _phase_calls(
    names: dict[int, str], file: IntArray, operation: IntArray, sums: FloatArray, sampled: IntArray
) -> PhaseCalls:
    """Return the calls of a phase, from sums by file and operation."""
    mpi = _mpi_io(names, file, sums, operation == MPI_IO)
    is_call = operation != MPI_IO
    file, operation, sums = file[is_call], operation[is_call], sums[is_call]
    transfer, moves = operation < METADATA, np.isin(operation, (*OF_READING, *OF_WRITING, RECEIVE, SEND))
    sync = operation == SYNC
    counted = np.bincount(operation, weights=sums[:, CALLS], minlength=len(OPERATIONS))
    moved = sorted(set(file[moves & (sums[:, BYTES] > 0) & (file != NO_FILE)].tolist()))
    files = [_file_io(names, number, operation, sums, file == number) for number in moved]
    all_s, all_b = sum(one.seconds for one in files), sum(one.moved_b for one in files)
    files.sort(key=lambda one: (-max(_part(one.seconds, all_s), _part(one.moved_b, all_b)), one.name or ""))
    return PhaseCalls(
        seconds=float(sums[:, SECONDS].sum()),
        sync_s=float(sums[sync, SECONDS].sum()),
        metadata_s=float(sums[~transfer & ~sync, SECONDS].sum()),
        by_operation={name: float(n) for name, n in zip(OPERATIONS, counted, strict=True) if n >= 0.5},
        transfers=float(sums[transfer, CALLS].sum()),
        small=float(sums[transfer, SMALL].sum()),
        received_b=float(sums[operation == RECEIVE, BYTES].sum()),
        sent_b=float(sums[operation == SEND, BYTES].sum()),
        files=tuple(files[:MOST_FILES]),
        file_count=len(files),
        sampled=sampled,
        mpi=mpi,
    )


def _mpi_io(names: dict[int, str], file: IntArray, sums: FloatArray, use: BoolArray) -> tuple[MpiIo, ...]:
    """Return the functions of MPI that a phase calls for files."""
    found = [
        MpiIo(names.get(int(number), OTHER_FUNCTIONS), float(each[CALLS]), float(each[BYTES]), float(each[SECONDS]))
        for number, each in zip(file[use], sums[use], strict=True)
        if each[CALLS] >= 0.5
    ]
    return tuple(sorted(found, key=lambda one: (-one.seconds, one.name)))


def _part(amount: float, total: float) -> float:
    """Return an amount's part of a total; 0 of nothing."""
    return amount / total if total > 0 else 0.0


def _file_io(names: dict[int, str], number: int, operation: IntArray, sums: FloatArray, of_file: BoolArray) -> FileIo:
    """Return what a phase does with a file."""
    reading, writing = np.isin(operation, (*OF_READING, RECEIVE)), np.isin(operation, (*OF_WRITING, SEND))
    name = None if number == OTHER_FILES else names.get(number, f"file {number}")
    return FileIo(
        name,
        read_b=float(sums[of_file & reading, BYTES].sum()),
        written_b=float(sums[of_file & writing, BYTES].sum()),
        calls=float(sums[of_file, CALLS].sum()),
        seconds=float(sums[of_file, SECONDS].sum()),
    )


def explained(totals: Totals, calls: Calls) -> float:
    """Return the share of the bytes that the kernel counted which wrapped calls have moved.

    The two layers, calls by descriptors and by streams, are disjoint: libc's calls for a stream are not wrapped.
    """
    total = part = 0.0
    for column, operations in ((READ, OF_READING), (WRITTEN, OF_WRITING)):
        counted = float(totals.values[:, column].sum())
        moved = float(calls.values[np.isin(calls.operation, operations), BYTES].sum())
        total, part = total + counted, part + min(moved, counted)
    return part / total if total > 0 else 1.0


def rates_over_time(totals: Totals, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return bytes read and written per second in bins, (2, b); NaN outside of what was recorded.

    Args:
        totals: r rows.
        start_s: (b,) seconds since the start of the run.
        end_s: (b,) likewise.
    """
    rates = np.full((2, len(start_s)), np.nan)
    if not len(totals.end_s):
        return rates
    edges = np.concatenate([totals.start_s[:1], totals.end_s])
    recorded = (end_s > edges[0]) & (start_s < edges[-1])
    length = np.maximum(end_s - start_s, 1e-9)
    for at, column in enumerate((READ, WRITTEN)):
        so_far = np.concatenate([[0.0], np.cumsum(totals.values[:, column])])
        rates[at, recorded] = ((np.interp(end_s, edges, so_far) - np.interp(start_s, edges, so_far)) / length)[recorded]
    return rates
