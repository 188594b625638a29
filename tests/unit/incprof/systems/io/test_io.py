"""Input and output by phase: the records of kind 11, their division among phases, and what is said of them."""

from __future__ import annotations

import errno
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.model import FloatArray, IntervalProfile
from incprof.readers.stream.coded_records import records_of
from incprof.readers.stream.interval_images import IntervalImage
from incprof.systems.io.analyse import MpiIo, PhaseIo, calls_by_phase, divided, explained, rates_over_time
from incprof.systems.io.read import (
    BUFFERED,
    CHILDREN,
    COUNTS,
    FIRST_NAME,
    NAMES,
    OPERATIONS,
    PATHS,
    PROCESS,
    READ,
    REFUSED,
    SECONDS,
    TO_STORAGE,
    VALUES,
    WRITES,
    WRITTEN,
    Calls,
    Totals,
    decoded,
)
from incprof.systems.io.sections import Site, notes, of_calls, of_sites, sentence, value
from tests.unit.profiles import rows

SECOND = 10**9


def varint(value: int) -> bytes:
    """A number as it is written."""
    more = value >> 7
    return bytes([value & 127 | 128 * bool(more)]) + (varint(more) if more else b"")


def record(kind: int, *numbers: int) -> bytes:
    """A record of an image."""
    text = b"".join(map(varint, numbers))
    return varint(kind) + varint(len(text)) + text


def images(*payloads: bytes) -> list[IntervalImage]:
    """Images of one interval of a second each."""
    return [IntervalImage(at, at * SECOND, (at + 1) * SECOND, payload) for at, payload in enumerate(payloads)]


def empty_profile(start_s: list[float], end_s: list[float]) -> IntervalProfile:
    """A profile of which only the times matter."""
    profile = rows(*(["f=10"] * len(start_s)))
    return replace(profile, start_s=np.array(start_s), end_s=np.array(end_s))


def made(*payloads: bytes) -> Totals:
    found = decoded(images(*payloads)).totals
    assert found is not None
    return found


def test_totals_become_what_each_row_has() -> None:
    found = made(
        record(PROCESS, 10, 20, 1, 2, 0, 4096, 0, 0),
        record(77, 1, 2, 3) + record(PROCESS, 10, 50, 1, 3, 0, 4096, 0, 0) + record(CHILDREN, 5, 6, 1, 1, 0, 0, 0),
        record(PROCESS, 15, 50, 2, 3, 0, 4096, 0, 0) + record(BUFFERED, 100, 2),
    )
    assert found.values[:, READ].tolist() == [10, 0, 5]
    assert found.values[:, WRITTEN].tolist() == [20, 30, 100]
    assert found.values[:, WRITES].tolist() == [2, 1, 2]
    assert found.start_s.tolist() == [0, 1, 2]
    assert found.end_s.tolist() == [1, 2, 3]
    assert found.children[WRITTEN] == 6
    assert found.buffered == (100, 2)


def test_a_lost_interval_costs_no_bytes() -> None:
    whole = images(*(record(PROCESS, 10 * (at + 1), 0, at + 1, 0, 0, 0, 0, 0) for at in range(4)))
    found = decoded([whole[0], whole[3]]).totals
    assert found is not None
    assert found.values[:, READ].tolist() == [10, 30]
    assert found.end_s.tolist() == [1, 4]


def test_damaged_records_are_counted_and_left_out() -> None:
    good = record(PROCESS, 10, 0, 1, 0, 0, 0, 0, 0)
    found = made(good, good[:-1], b"\xff" * 12, record(PROCESS, 1 << 60, 0, 1, 0, 0, 0, 0), record(PROCESS, 3), good)
    assert found.damaged == 4
    assert found.values[:, READ].sum() == 10
    assert decoded(images()).totals is None
    assert decoded(images(record(PROCESS, 3))).totals is None


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_no_bytes_make_it_fail(payloads: list[bytes]) -> None:
    found = decoded(images(*payloads)).totals
    if found is not None:
        assert found.values.shape == (len(found.end_s), VALUES)
        assert (found.values >= 0).all()
        assert all(isinstance(note, str) for note in notes(found))


@given(st.lists(st.integers(0, 2**53), max_size=9))
def test_numbers_are_read_as_written(numbers: list[int]) -> None:
    assert list(records_of(record(PROCESS, *numbers))) == [(PROCESS, b"".join(map(varint, numbers)))]


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_all_of_a_row_is_divided_and_none_twice(phases: int, rows: int, seed: int, sampled: bool) -> None:
    draw = np.random.default_rng(seed)
    amounts = np.floor(draw.random((rows, VALUES)) * draw.choice([0.0, 1e3, 1e9], (rows, VALUES)))
    inside: FloatArray = draw.random((phases, rows)) * (draw.random((phases, rows)) < 0.5)
    seen = draw.random((2, phases, rows)) * (draw.random((2, phases, rows)) < 0.3) if sampled else None
    found, shared, _ = divided(amounts, inside, seen)
    there = inside.sum(axis=0) > 0
    assert found.sum(axis=0) == pytest.approx(amounts[there].sum(axis=0))
    assert (found >= 0).all()
    assert (shared <= found * (1 + 1e-9) + 1e-6).all()


def amounts_of(*rows: tuple[float, float]) -> FloatArray:
    """Rows of what is written, and of what of it goes to storage."""
    found = np.zeros((len(rows), VALUES))
    found[:, [WRITTEN, TO_STORAGE]] = rows
    return found


def test_a_mixed_row_is_divided_by_each_phases_own_rate() -> None:
    inside = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    found, shared, _ = divided(amounts_of((300, 0), (100, 0), (200, 0)), inside)
    assert found[:, WRITTEN].tolist() == [450, 150]
    assert shared[:, WRITTEN].tolist() == [150, 50]
    # A phase that does nothing has no part in what others do, nor in what storage does for them.
    found, *_ = divided(amounts_of((300, 0), (0, 0), (200, 200)), inside)
    assert found[:, WRITTEN].tolist() == [500, 0]
    assert found[:, TO_STORAGE].tolist() == [200, 0]


def test_sampled_calls_divide_a_mixed_row() -> None:
    inside = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    seen = np.zeros((2, 2, 3))
    seen[1, :, 2] = 30, 10
    found, shared, _ = divided(amounts_of((300, 0), (100, 0), (200, 0)), inside, seen)
    assert found[:, WRITTEN].tolist() == [450, 150]
    seen[1, :, 2] = 0, 10
    found, shared, _ = divided(amounts_of((300, 0), (100, 0), (200, 80)), inside, seen)
    assert found[:, WRITTEN].tolist() == [300, 300]
    assert found[:, TO_STORAGE].tolist() == [0, 80]
    assert not shared.any()


def test_rates_over_time_add_up_to_all_bytes() -> None:
    found = made(*(record(PROCESS, *(at * at,) * 2, 1, 1, 0, 0, 0, 0) for at in range(1, 6)))
    start, end = np.linspace(0, 6, 13)[:-1], np.linspace(0, 6, 13)[1:]
    read, written = rates_over_time(found, start, end)
    assert np.nansum(read * (end - start)) == 25
    assert np.isnan(read[-1])
    assert (read[:10] == written[:10]).all()


def test_sentences() -> None:
    def one(**given: float) -> str | None:
        nothing = dict.fromkeys(
            ("read_b", "written_b", "reads", "writes", "from_storage_b", "to_storage_b", "divided"), 0.0
        )
        return sentence(PhaseIo(id=0, seconds=2.0, **(nothing | given)))

    assert one() is None
    assert one(read_b=4e6, reads=1000, from_storage_b=1e6) == (
        "reads 4 MB in 1000 calls of 4 kB (2 MB/s), 1 MB from storage"
    )
    assert one(written_b=10, writes=1, divided=0.25) == (
        "writes 10 B in 1 call (5 B/s); 25 % of it divided among phases of the same interval"
    )
    assert one(from_storage_b=5e7) == "reads 50 MB from storage, by mapped files or asynchronous calls"
    assert one(to_storage_b=500) is None
    assert one(written_b=20e3, writes=2, to_storage_b=24e3) == (
        "writes 20 kB in 2 calls of 10 kB (10 kB/s), 24 kB to storage"
    )
    assert one(written_b=20e3, writes=2, to_storage_b=3e6) == (
        "writes 20 kB in 2 calls of 10 kB (10 kB/s), 3 MB in pages made dirty, by mapped files, "
        "asynchronous calls or whole large pages"
    )
    assert one(read_b=500, reads=10, from_storage_b=3e7) == (
        "reads 500 B in 10 calls of 50 B (250 B/s), 30 MB from storage, most by mapped files, asynchronous calls or "
        "reading ahead"
    )
    assert one(read_b=100, reads=1, from_storage_b=51.2) == "reads 100 B in 1 call (50 B/s)"


def test_notes() -> None:
    assert notes(made(record(REFUSED, errno.EACCES))) == [
        "What the process read and wrote is not available: /proc/self/io: Permission denied"
    ]
    process = record(PROCESS, 1000, 5000, 1, 5, 0, 0, 0, 0)
    assert notes(made(process)) == ["The process read 1 kB and wrote 5 kB in 6 calls, as the kernel counted"]
    with_child = made(process + record(CHILDREN, 7, 0, 1, 0, 0, 0, 0), b"\x01")
    assert notes(with_child)[1:] == [
        "Child processes that it waited for read 7 B and wrote 0 B more, in no phase",
        "1 record of input and output could not be read",
    ]
    assert "some of its threads had ended" in notes(made(record(PROCESS, 1000, 5000, 1, 5, 0, 0, 0, 1)))[1]


def names(*texts: str) -> bytes:
    """A record of names of files."""
    text = varint(FIRST_NAME) + b"".join(varint(len(each.encode())) + each.encode() for each in texts)
    return varint(NAMES) + varint(len(text)) + text


# Two files; in the second interval, calls that are sampled in its first half only.
BUSY = (
    names("/data/in", "/data/out")
    + record(COUNTS, 2, 0, 100, 400_000, 2 * 10**8, 0, 0)
    + record(PROCESS, 400_000, 0, 100, 0, 0, 0, 0, 0),
    record(COUNTS, 2, 0, 50, 200_000, 10**8, 0, 0, 3, 1, 30, 3000, 10**8, 1, 30, 3, 9, 10, 0, 10**7, 0, 0)
    + record(PATHS, 1000, 99_000, 2, 0, 7, 25_000, 4000, 10**6, 249_000, 2, 0, 8, 25_000, 4000, 10**6)
    + record(PROCESS, 600_000, 3000, 150, 30, 0, 0, 0, 0),
)


def busy() -> tuple[Totals, Calls]:
    found = decoded(images(*BUSY))
    assert found.totals is not None
    assert found.calls is not None
    return found.totals, found.calls


def test_calls_are_decoded_with_names_and_samples() -> None:
    _, calls = busy()
    assert calls.names == {2: "/data/in", 3: "/data/out"}
    assert calls.file.tolist() == [2, 2, 3, 3]
    assert [OPERATIONS[number] for number in calls.operation] == ["read", "read", "write", "sync"]
    assert calls.values[:, SECONDS].tolist() == [0.2, 0.1, 0.1, 0.01]
    assert calls.event_s.tolist() == pytest.approx([0.1, 0.25])
    assert calls.weight.tolist() == [25, 25]
    assert calls.node.tolist() == [7, 8]


def test_counts_of_an_interval_go_where_their_sampled_calls_are() -> None:
    totals, calls = busy()
    # Sampled calls lie in the first interval by time: those of the second have none of their own.
    profile = empty_profile([0.0, 1.0, 1.5], [1.0, 1.5, 2.0])
    found = calls_by_phase(calls, profile, np.array([0, 1, 0]), 2)
    assert found[0].by_operation["read"] == 125
    assert found[1].by_operation["read"] == 25
    assert found[1].by_operation["write"] == 15
    calls = replace(calls, event_s=calls.event_s + 1.0)
    found = calls_by_phase(calls, profile, np.array([0, 1, 0]), 2)
    assert found[0].by_operation["read"] == 100
    assert found[1].by_operation["read"] == 50
    assert found[1].seconds == pytest.approx(0.1 + 0.05 + 0.005)
    assert found[1].sync_s == pytest.approx(0.005)
    assert [one.name for one in found[1].files] == ["/data/in", "/data/out"]
    assert found[1].small == 15
    assert sum(one.transfers for one in found.values()) == 180
    assert explained(totals, calls) == 1.0


def test_a_phase_that_has_written_nothing_has_no_writes_of_files() -> None:
    _, calls = busy()
    profile = empty_profile([0.0, 1.0, 1.5], [1.0, 1.5, 2.0])
    rows = np.array([1.0, 1.4, 1.6, 2.0])
    moved = np.zeros((2, 3, 4))
    moved[1, 0, 3] = 3000
    found = calls_by_phase(calls, profile, np.array([0, 1, 0]), 2, (rows, moved))
    assert found[0].by_operation["write"] == 30
    assert "write" not in found[1].by_operation
    assert [one.name for one in found[1].files] == ["/data/in"], "reads have no rows: as before"
    moved[1, :2, 3] = 2000, 1000
    moved[0, 1, 2] = 200_000
    found = calls_by_phase(calls, profile, np.array([0, 1, 0]), 2, (rows, moved))
    assert found[1].by_operation["write"] == 15, "both phases write: time decides"
    assert found[1].by_operation["read"] == 50


def test_calls_of_mpi_stand_beside_those_below_them() -> None:
    found = decoded(
        images(
            names("/data/out", "MPI_File_write_all")
            + record(COUNTS, 2, 1, 8, 8_000_000, 10**8, 0, 0, 3, 15, 4, 8_000_000, 3 * 10**8, 0, 0)
            + record(PROCESS, 0, 8_000_000, 0, 8, 0, 0, 0, 0)
        )
    )
    assert found.totals is not None
    assert found.calls is not None
    (phase,) = calls_by_phase(found.calls, empty_profile([0.0], [1.0]), np.array([0]), 1).values()
    assert phase.mpi == (MpiIo("MPI_File_write_all", 4.0, 8e6, pytest.approx(0.3)),)
    assert (phase.transfers, phase.seconds, phase.metadata_s) == (8, 0.1, 0.0)
    assert [one.name for one in phase.files] == ["/data/out"]
    assert of_calls(PhaseIo(0, 1.0, 0, 8_000_000, 0, 8, 0, 0, 0.0, phase)) == (
        "100 ms in calls that read and write; by MPI-IO: MPI_File_write_all 4 calls, 8 MB in 300 ms; "
        "files: /data/out (8 MB written in 100 ms)"
    )
    assert explained(found.totals, found.calls) == 1.0


def test_of_calls() -> None:
    totals, calls = busy()
    profile = empty_profile([0.0, 1.0], [1.0, 2.0])
    (phase,) = calls_by_phase(calls, profile, np.array([0, 0]), 1).values()
    one = PhaseIo(0, 2.0, 600_000, 3000, 150, 30, 0, 0, 0.0, phase)
    assert of_calls(one) == (
        "410 ms in calls that read and write; files: /data/in (600 kB read in 300 ms), "
        "/data/out (3 kB written in 110 ms)"
    )
    assert value(one)["files"] == [
        {"name": "/data/in", "read_b": 600_000, "written_b": 0, "calls": 150, "seconds": pytest.approx(0.3)},
        {"name": "/data/out", "read_b": 0, "written_b": 3000, "calls": 40, "seconds": pytest.approx(0.11)},
    ]
    assert notes(totals, calls)[0].endswith("; files and calls are known of all of these bytes")


def test_of_sites() -> None:
    sites = [Site(("step", "main"), "app", "write", 0.97), Site((), None, "read", 0.02)]
    assert of_sites(sites) == "time in calls by function: step 97 % (write, called by main)"
    read = Site(("get_data", "get_code", "exec"), "x.py", "read", 1.0, "a.py:load")
    assert of_sites([read]) == "time in calls by function: get_data 100 % (read, called by get_code < ... < a.py:load)"
    flush = "ns::Out<int>::flush(char const*, unsigned long) [clone .isra.0]"
    assert of_sites([Site((flush,), "app", "write", 1.0)]) == "time in calls by function: Out::flush 100 % (write)"
    assert of_sites(sites[1:]) is None


@given(st.lists(st.binary(max_size=80), max_size=4), st.integers(5, 7))
def test_no_record_of_calls_makes_it_fail(payloads: list[bytes], kind: int) -> None:
    texts = [varint(kind) + varint(len(text)) + text for text in payloads]
    found = decoded(images(*BUSY, *texts))
    assert found.calls is not None
    assert len(found.calls.file) == len(found.calls.values)
    profile = empty_profile([0.0, 1.0, 1.5], [1.0, 1.5, 2.0])
    each = calls_by_phase(found.calls, profile, np.array([0, 1, 0]), 2)
    assert all(one.seconds >= 0 for one in each.values())
