"""Waiting by phase: the records of kind 9, their causes, and how spans are divided among waits."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.model import PathTree
from incprof.readers.stream.interval_images import IntervalImage, RecordedPaths
from incprof.readers.stream.waits import as_called, called_of, decode
from incprof.systems.waiting.analyse import (
    CauseWaits,
    Holder,
    PhaseWaits,
    WaitPath,
    waiting_over_time,
    waits_by_thread,
)
from incprof.systems.waiting.causes import (
    EPOLL,
    EVENT,
    FILE,
    NAMES,
    PIPE,
    SOCKET,
    Cause,
    Reason,
    kinds_of,
    reason_of,
)
from incprof.systems.waiting.read import (
    BLOCKED,
    BRIEF,
    NOT_BLOCKED,
    ONE_WAIT,
    Waits,
    waits_from,
    with_short_threads_joined,
)
from incprof.systems.waiting.sections import _others, _sentence, _shown
from tests.unit.streamwriter import Sample, StreamWriter, varint
from tests.unit.streamwriter import waits_image as image

MS = 1000
READ, SLEEP, FUTEX, NOTHING = 0, 230, 202, -1


def images(*payloads: bytes) -> list[IntervalImage]:
    return [IntervalImage(at, at * 10**9, (at + 1) * 10**9, payload) for at, payload in enumerate(payloads)]


def span(
    begin: int, length: int, *, waited: int | None = None, state: int = NOT_BLOCKED, call: int = NOTHING,
    thread: int = 0, delayed: int = 0, kind: int = 0,
) -> tuple[int, ...]:  # fmt: skip
    """A span in milliseconds."""
    off = length if waited is None else waited
    return (begin * MS, length * MS, thread, off * MS, delayed * MS, 4 + state, 0, call + 1, kind, 0)


def waits_of(*spans: tuple[int, ...]) -> Waits:
    """Waits at no site, of these spans."""
    decoded = decode(images(image(*spans)))
    nothing = np.zeros(1, dtype=np.int64)
    paths = RecordedPaths(PathTree(nothing, nothing - 1, nothing), nothing, (), {}, nothing[:0])
    return waits_from(decoded, (), paths, "x86_64")


def seconds_of(*spans: tuple[int, ...], thread: int = 0) -> dict[str, float]:
    """Seconds of each cause, rounded to milliseconds."""
    waits = waits_of(*spans)
    kinds = kinds_of(waits)
    table = waits_by_thread(waits, kinds, waits.end_s - waits.begin_s)
    row = table.threads.tolist().index(thread)
    found: dict[str, float] = {}
    causes = [reason.cause for reason in kinds.reason] + ["unknown"]
    for cause, seconds in zip(causes, table.seconds[row].tolist(), strict=True):
        found[cause] = found.get(cause, 0.0) + seconds
    return {cause: round(seconds, 3) for cause, seconds in found.items() if seconds > 0}


def test_an_image_becomes_spans_with_times_of_the_run() -> None:
    frames = ((3, 0x1000), (3, 0x0F00))
    first = image((-5, 10, 2, 6, 1, 4 * 9 + BLOCKED, 1, SLEEP + 1, 0, 3), sites=[(7, frames)])
    decoded = decode(images(image(), first, image((5, 10, 2, 0, 0, 4, 0, 0, 0, 0))))
    assert decoded.damaged == 0
    assert list(decoded.sites) == [(7, frames)]
    assert decoded.spans.tolist() == [
        [999_995, 10, 2, 6, 1, 37, 1, SLEEP + 1, 0, 3],
        [2_000_005, 10, 2, 0, 0, 4, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        image((0, 10, 0, 5, 0, 4, 1, 0, 0, 0)),  # a site that is not there
        image((0, 10, 2**40, 5, 0, 4, 0, 0, 0, 0)),
        image((0, 2**60, 0, 5, 0, 4, 0, 0, 0, 0)),
        image((-(2**62), 10, 0, 5, 0, 4, 0, 0, 0, 0)),
        image((0, 10, 0, 5, 0, 4, 0, 0, 0)),  # a number is missing
        image()[:-1] + varint(5),  # sites are missing
        b"\x80",
        b"",
    ],
)
def test_a_damaged_image_is_left_out_whole(wrong: bytes) -> None:
    decoded = decode(images(wrong, image(span(0, 10))))
    assert (decoded.damaged, len(decoded.spans)) == (1, 1)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_no_bytes_make_it_fail(payloads: list[bytes]) -> None:
    decoded = decode(images(*payloads))
    assert decoded.spans.shape[1] == 10
    assert 0 <= decoded.damaged <= len(payloads)


@pytest.mark.parametrize(
    ("names", "modules", "call", "kind", "reason"),
    [
        (["__lll_lock_wait", "pthread_mutex_lock@@GLIBC_2.2.5"], ["libc.so.6"] * 2, "futex", 0, ("lock", "mutex")),
        (["__futex_abstimed_wait", "pthread_cond_wait@@GLIBC_2.3.2"], ["libc.so.6"] * 2, "futex", 0,
         ("lock", "condition")),
        (["[unknown in libc.so.6]"], ["libc.so.6"], "futex", 0, ("lock", "futex")),
        (["__pthread_clockjoin_ex"], ["libc.so.6"], "futex", 0, ("join", "")),
        (["__lll_lock_wait", "pthread_mutex_lock", "python3.11+0x4f92c0", "_PyEval_EvalFrameDefault"],
         ["libc.so.6"] * 2 + ["python3.11"] * 2, "futex", 0, ("lock", "GIL")),
        (["__lll_lock_wait_private", "_int_free", "free", "insertdict", "PyDict_SetItem"],
         ["libc.so.6"] * 3 + ["python3.11"] * 2, "futex", 0, ("lock", "allocator")),
        (["__futex_abstimed_wait", "pthread_cond_wait", "free_all"], ["libc.so.6"] * 2 + ["a.so"], "futex", 0,
         ("lock", "condition")),
        (["clock_nanosleep"], ["libc.so.6"], "clock_nanosleep", 0, ("sleep", "")),
        (["read"], ["libc.so.6"], "read", FILE, ("io", "file")),
        (["read"], ["libc.so.6"], "read", PIPE, ("network", "pipe")),
        (["recv"], ["libc.so.6"], "recvfrom", SOCKET, ("network", "socket")),
        (["read"], ["libc.so.6"], "read", EVENT, ("lock", "event")),
        (["poll"], ["libc.so.6"], "poll", 0, ("sleep", "")),
        (["poll"], ["libc.so.6"], "poll", SOCKET, ("network", "socket")),
        (["epoll_wait"], ["libc.so.6"], "epoll_wait", EPOLL, ("network", "epoll")),
        (["fsync"], ["libc.so.6"], "fsync", FILE, ("io", "file")),
        (["wait4"], ["libc.so.6"], "wait4", 0, ("child", "")),
        (["poll", "opal_progress", "PMPI_Recv", "MPI_Recv"], ["libc.so.6", "libopen-pal.so.40", "libmpi.so.40",
         "libmpi.so.40"], "poll", SOCKET, ("mpi", "")),
        (["write", "MPI_File_write_all"], ["libc.so.6", "libmpi.so.40"], "write", FILE, ("io", "MPI file")),
        (["[unknown in libgomp.so.1]"], ["libgomp.so.1.0.0"], "futex", 0, ("openmp", "")),
        (["ioctl", "cuStreamSynchronize"], ["libc.so.6", "libcuda.so.1"], "ioctl", 5, ("device", "")),
        (["clone"], ["libc.so.6"], "nanosleep", 0, ("sleep", "")),
        (["zeroed"], ["libz.so.1"], "read", FILE, ("io", "file")),
        ([], [], None, 0, ("fault", "")),
    ],
)  # fmt: skip
def test_causes(names: list[str], modules: list[str], call: str | None, kind: int, reason: tuple[str, str]) -> None:
    for arch, table in NAMES.items():
        numbers = {name: number for number, name in table.items()}
        aliases = {"poll": "ppoll", "epoll_wait": "epoll_pwait"}
        number = -1 if call is None else numbers.get(call, numbers.get(aliases.get(call, ""), -2))
        assert reason_of(names, modules, number, kind, arch, is_observed=True) == reason


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (["sem_clockwait", "PyThread_acquire_lock_timed", "lock_PyThread_acquire_lock", "cfunction_vectorcall_O"],
         "lock_PyThread_acquire_lock"),
        (["clock_nanosleep@@GLIBC_2.17", "time_sleep", "_PyEval_EvalFrameDefault"], "time_sleep"),
        (["__futex_abstimed_wait", "take_gil", "PyEval_RestoreThread"], "take_gil"),
        (["PyEval_RestoreThread"], "PyEval_RestoreThread"),
        (["libgomp.so.1.0.0+0x1f5e0", "libgomp.so.1.0.0+0x1cc40", "start_thread", "clone3"], ""),
        (["libgomp.so.1.0.0+0x1f780", "GOMP_barrier", "libgomp.so.1.0.0+0x1cc40"], "GOMP_barrier"),
        ([], ""),
    ],
)  # fmt: skip
def test_the_function_called_is_not_one_by_which_an_interpreter_calls(names: list[str], called: str) -> None:
    assert called_of(names) == called


def test_functions_of_mpi_have_the_names_by_which_programs_call_them() -> None:
    """Symbols are those of the profiling interface, or of the tracer's functions."""
    names = ("PMPI_Init_thread", "MPI_Init_thread_wrapper", "PMPI_Recv_wrapper", "MPI_Send", "mpi_send_", "PMPIX", "f")
    assert [as_called(name) for name in names] == [
        "MPI_Init_thread", "MPI_Init_thread", "MPI_Recv", "MPI_Send", "mpi_send_", "PMPIX", "f",
    ]  # fmt: skip


def test_without_permission_no_cause_is_guessed() -> None:
    assert reason_of([], [], -1, 0, "x86_64", is_observed=False) == Reason("other", "not permitted")


def test_a_span_belongs_to_the_waits_at_its_ends() -> None:
    assert seconds_of(
        span(0, 10, state=BLOCKED, call=SLEEP),  # the thread ran before
        span(10, 50, state=ONE_WAIT, call=SLEEP),
        span(60, 20, state=BLOCKED, call=FUTEX),  # half is the sleep's
        span(80, 10, waited=4),  # the rest of the lock's
    ) == {"sleep": 0.07, "lock": 0.014}


def test_waits_that_no_sample_found_are_divided_like_the_short_ones() -> None:
    found = seconds_of(
        span(0, 10, waited=3, state=BLOCKED, call=SLEEP),
        span(10, 10, waited=2),
        span(20, 40, waited=8),
        span(100, 50, state=BLOCKED, call=FUTEX, thread=1),
        span(150, 500, state=ONE_WAIT, call=FUTEX, thread=1),
    )
    assert found == {"sleep": 0.013}
    assert seconds_of(span(0, 40, waited=8)) == {"unknown": 0.008}


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(0, 3), st.sampled_from([SLEEP, FUTEX, READ])),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_all_time_off_the_processors_has_a_cause_once(drawn: list[tuple[int, int, int, int]]) -> None:
    spans, now = [], 0
    for length, waited, state, call in drawn:
        off = min(waited, length)
        spans.append(span(now, length, waited=off, state=state, call=call if state else NOTHING, thread=length % 2))
        now += length
    waits = waits_of(*spans)
    table = waits_by_thread(waits, kinds_of(waits), waits.end_s - waits.begin_s)
    for row, thread in enumerate(table.threads.tolist()):
        assert table.seconds[row].sum() == pytest.approx(waits.waited_s[waits.thread == thread].sum())
    assert (table.seconds >= 0).all()


@given(st.lists(st.tuples(st.sampled_from("run wait delay".split()), st.integers(1, 40)), min_size=1, max_size=30))
def test_a_delay_counted_at_its_end_is_where_it_was(drawn: list[tuple[str, int]]) -> None:
    timeline = [kind for kind, length in drawn for _ in range(length)]
    timeline.append("run")
    spans, counted, pending = [], 0, 0
    for begin in range(0, len(timeline), 10):
        part = timeline[begin : begin + 10]
        counted = 0
        for kind in part:
            pending += kind == "delay"
            counted, pending = (counted, pending) if kind == "delay" else (counted + pending, 0)
        waited = max(len(part) - part.count("run") - counted, 0)
        spans.append(span(begin, len(part), waited=waited, delayed=counted))
    waits = waits_of(*spans)
    assert waits.delayed_s.sum() == pytest.approx((timeline.count("delay") - pending) * 1e-3)
    assert (waits.waited_s + waits.delayed_s <= waits.end_s - waits.begin_s + 1e-9).all()
    assert waits.waited_s.min() >= 0
    if all(kind != "run" for kind, _ in drawn):
        assert waits.waited_s.sum() == pytest.approx(timeline.count("wait") * 1e-3, abs=1.1e-3)


def test_a_delay_begins_in_no_span_of_another_time_or_thread() -> None:
    late = span(20, 10, waited=0, delayed=25)
    assert waits_of(span(0, 10), span(10, 10), late).waited_s.tolist() == pytest.approx([0.005, 0.0, 0.0])
    assert waits_of(span(0, 10), span(11, 9, thread=1), late).delayed_s.sum() == pytest.approx(0.01)
    assert waits_of(span(0, 19), late).delayed_s.sum() == pytest.approx(0.01)


def test_the_busy_threads_are_those_that_compute_or_the_first_one() -> None:
    waits = waits_of(
        span(0, 1000, waited=900), span(0, 1000, waited=100, thread=1), span(0, 1000, waited=150, thread=2)
    )
    assert waits_by_thread(waits, kinds_of(waits), waits.end_s - waits.begin_s).busy.tolist() == [False, True, True]
    waits = waits_of(span(0, 1000), span(0, 1000, waited=998, thread=1))
    assert waits_by_thread(waits, kinds_of(waits), waits.end_s - waits.begin_s).busy.tolist() == [True, False]


def test_shares_over_time_are_of_the_bins_that_spans_lie_in() -> None:
    waits = waits_of(span(0, 1000, state=ONE_WAIT, call=SLEEP), span(1000, 1000, waited=0, delayed=500))
    start = np.array([0.0, 0.5, 1.0])
    shares = waiting_over_time(waits, kinds_of(waits), [0], start, start + 0.5)
    assert {cause: np.round(values, 6).tolist() for cause, values in shares.items()} == {
        "sleep": [1.0, 1.0, 0.0],
        "run-queue": [0.0, 0.0, 0.5],
    }


def reads_and_sleeps(seed: int, until: float, *, gap: float = 10.0, late: float = 0.0) -> list[tuple[int, ...]]:
    """Phases of 30 ms, by turns: reads of 0.3 ms, one each millisecond, between which the thread runs; one sleep.

    Args:
        seed: of the moments of samples.
        until: milliseconds.
        gap: mean milliseconds between samples.
        late: milliseconds before a sample in which no read begins. In the 0.1 after it, reads end.
    """
    rng = np.random.default_rng(seed)
    spans, begin = [], 0.0
    while begin < until:
        end = round(begin + gap * rng.uniform(0.5, 1.5), 3)
        state, call = NOT_BLOCKED, NOTHING
        if end % 60 >= 30:
            state, call = BLOCKED, SLEEP
        elif late <= end % 1 < 0.3:
            state, call = BLOCKED if end % 1 < 0.2 else BRIEF, READ
        waited = waited_until(end) - waited_until(begin)
        kind = FILE if call == READ else 0
        spans.append(
            (round(begin * MS), round((end - begin) * MS), 0, round(waited * MS), 0, 4 + state, 0, call + 1, kind, 0)
        )
        begin = end
    return spans


@pytest.mark.parametrize(("gap", "late"), [(10.0, 0.0), (50.0, 0.0), (50.0, 0.15)])
def test_short_waits_between_which_a_thread_runs_have_their_share(gap: float, late: float) -> None:
    found = seconds_of(*reads_and_sleeps(seed=7, until=10_000 * gap, gap=gap, late=late))
    assert found["io"] / sum(found.values()) == pytest.approx(9 / 39, abs=0.015)


def test_the_standard_error_covers_the_spread_of_repeated_recordings() -> None:
    found, errors = [], []
    for seed in range(60):
        waits = waits_of(*reads_and_sleeps(seed, until=2000))
        kinds = kinds_of(waits)
        table = waits_by_thread(waits, kinds, waits.end_s - waits.begin_s)
        of_files = np.array([*(reason.cause == "io" for reason in kinds.reason), False])
        found.append(table.seconds[0, of_files].sum())
        errors.append(float(np.sqrt(table.variance(of_files)[0])))
    assert 0.4 * np.mean(errors) <= np.std(found) <= 1.1 * np.mean(errors)  # less: samples are spread over the time
    alone = waits_of(span(0, 1000, state=ONE_WAIT, call=SLEEP))
    kinds = kinds_of(alone)
    assert waits_by_thread(alone, kinds, np.ones(1)).variance(np.array([True, False])).tolist() == [0.0]


def waited_until(time: float) -> float:
    turns, place = divmod(time, 60)
    reads = min(place, 30)
    return 39 * turns + 0.3 * (reads // 1) + min(reads % 1, 0.3) + max(place - 30, 0)


def test_waits_that_no_sample_found_are_no_cause_in_the_table() -> None:
    def phase(cause: Cause) -> PhaseWaits:
        return PhaseWaits(0, 1.0, 1, (0,), 0.3, (CauseWaits(cause, 0.3, 0.3, threads=(0,)),))

    assert _shown(phase("unknown")) == "30 %"
    assert _shown(phase("lock")) == "30 %, locks"


def test_the_sentence_names_the_paths_of_the_busy_threads() -> None:
    """Idle threads of a pool wait for longer than the thread that computes, but not in its place."""
    idle = WaitPath(30.0, 0.0, "condition", 0, "pool_server", (1, 2, 3))
    own = WaitPath(2.0, 2.0, "condition", 0, "wait_for_result", (0,))
    locks = CauseWaits("lock", 32.0, 0.2, threads=(1, 2, 3, 0), paths=(own, idle))
    nothing = waits_of(span(0, 10))
    assert _sentence(PhaseWaits(0, 10.0, (0,), 4, 0.2, (locks,)), nothing, {}) == (
        "waits 20 % of the time of its main thread: locks 20 % (wait_for_result)"
    )


def test_the_other_threads_are_with_where_they_wait() -> None:
    """A thread that waits for threads to end does not show what these wait for."""
    nothing = waits_of()
    join = CauseWaits("join", 9.0, 0.9, threads=(0,), paths=(WaitPath(9.0, 9.0, "", 0, "std::thread::join()", (0,)),))
    held = WaitPath(6.0, 0.0, "mutex", 0, "pthread_mutex_lock", (1, 2), Holder(3, 0.9))
    locks = CauseWaits("lock", 6.0, 0.0, threads=(1, 2), paths=(held,))
    sleep = CauseWaits("sleep", 3.0, 0.0, threads=(1,), paths=(WaitPath(3.0, 0.0, "", 0, "usleep", (1,)),))
    files = CauseWaits("io", 0.2, 0.0, threads=(2,), paths=(WaitPath(0.2, 0.0, "", 0, "read", (2,)),))
    assert _others(PhaseWaits(0, 10.0, (0,), 4, 0.9, (join, sleep, locks, files)), nothing, {}) == (
        "3 other threads, most of the time waiting for locks (pthread_mutex_lock, held by thread 3) and sleep (usleep)"
    )
    assert _others(PhaseWaits(0, 10.0, (0,), 1, 0.9, (join,)), nothing, {}) is None


def test_the_sentence_leaves_out_what_may_be_nothing() -> None:
    sure, unsure = CauseWaits("lock", 2.0, 0.2, share_error=0.1), CauseWaits("sleep", 0.5, 0.05, share_error=0.06)
    nothing = waits_of(span(0, 10))
    first = "waits 25 % of the time of its main thread: "
    assert _sentence(PhaseWaits(0, 10.0, (0,), 2, 0.25, (sure, unsure)), nothing, {}) == first + "locks 20 % +- 10 %"
    assert _sentence(PhaseWaits(0, 10.0, (0,), 2, 0.25, (unsure,)), nothing, {}) == first + "sleep 5 % +- 6 %"


def test_csv_has_the_share_as_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = StreamWriter(["main"])
    for _ in range(10):
        writer.interval([Sample("main", weight=70)], images={9: image(span(0, 1000, waited=300, call=FUTEX))})
    writer.end()
    assert main(["phases", str(writer.save(tmp_path / "run")), "--card", "--csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert float(row["waiting_share"]) == pytest.approx(0.3, abs=0.01)
    assert row["waiting"].startswith("30 %")
    assert list(row)[-1] == "waiting_share"


def test_threads_that_live_less_than_an_interval_count_as_one() -> None:
    short = [span(100 * each, 50, state=BLOCKED, call=FUTEX, thread=each, waited=30) for each in range(1, 9)]
    waits = with_short_threads_joined(waits_of(span(0, 2000), span(0, 1500, thread=20), *short), 1.0)
    assert waits.short == (1, 2, 3, 4, 5, 6, 7, 8, *range(9, 20))
    table = waits_by_thread(waits, kinds_of(waits), waits.end_s - waits.begin_s)
    assert table.threads.tolist() == [0, 1, 20]
    assert table.wall[1] == pytest.approx(8 * 0.05)
    assert table.waited[1] == pytest.approx(8 * 0.03)


def test_threads_of_a_short_run_are_not_short() -> None:
    waits = waits_of(span(0, 300), span(0, 200, thread=1), span(0, 200, thread=2))
    assert with_short_threads_joined(waits, 1.0).short == ()
