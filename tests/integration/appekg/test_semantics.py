"""What is recorded of beats, to the nanosecond, against a model: scripts of beats run by the library's fake clock."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_model import Model, Row
from tests.integration.appekg_scripts import Recorded, only_file, run_script

INLINE_STARTS, DEEP_STARTS = 7, 65536
SLOTS = 8192
ALONE = ["begin 0 7", "advance 3", "end 0 7"]  # an interval before the first call has no process to belong to


@pytest.fixture(scope="session")
def script(ekg: EkgBuilder) -> Path:
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", output="script")


def record(program: Path, lines: list[str], **env: str) -> Recorded:
    with tempfile.TemporaryDirectory() as place:
        outcome, directory = run_script(program, lines, Path(place), env)
        assert outcome.stderr == ""
        return only_file(directory)


def compare(program: Path, lines: list[str], **env: str) -> Recorded:
    """Record, and compare with the model."""
    found = record(program, lines, **env)
    expected = Model(default_factor=int(env.get("EKG_RATE", 1))).run(lines)
    assert found.rows == expected.rows
    assert found.counters() == expected.intervals
    assert found.has_end
    return found


def lines_of(threads: int, ids: list[int], factors: int) -> st.SearchStrategy[list[str]]:
    """Scripts of a few threads and ids: the fewer, the more they have to do with each other."""
    thread, key = st.integers(0, threads - 1), st.sampled_from(ids)
    edge = st.builds("{} {} {}".format, st.sampled_from(["begin", "begin", "end", "end", "pulse"]), thread, key)
    time = st.builds("advance {}".format, st.integers(0, 5000))
    setting = st.one_of(
        st.builds("rate {} {}".format, key, st.integers(0, factors)),
        st.builds("leave {}".format, st.integers(1, threads)),
        st.sampled_from(["disable", "enable"]),
    )
    line = st.one_of(edge, edge, edge, edge, time, time, time, st.just("interval"), setting)
    return st.lists(line, max_size=80)


scripts = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@scripts
@given(lines=lines_of(4, [0, 1, SLOTS, 2**32 - 1], 4))
def test_any_script_is_recorded_as_in_the_model(script: Path, lines: list[str]) -> None:
    compare(script, [*ALONE, *lines])


@scripts
@given(lines=lines_of(2, [1], 3), factor=st.integers(2, 4))
def test_two_threads_that_end_each_others_beats_while_some_are_skipped(
    script: Path, lines: list[str], factor: int
) -> None:
    compare(script, [*ALONE, *lines], EKG_RATE=str(factor))


@scripts
@given(lines=lines_of(1, [1, SLOTS + 1], 4), deep=st.integers(5, 12))
def test_one_thread_deeper_than_there_is_room_in_the_slot(script: Path, lines: list[str], deep: int) -> None:
    down = [line for step in range(deep) for line in ("advance 7", f"begin 0 {step % 2 * SLOTS + 1}", "begin 0 1")]
    compare(script, [*ALONE, *down, *lines])


def test_the_functions_do_what_the_inlined_calls_do(ekg: EkgBuilder) -> None:
    """Other languages call functions: the same script, through them."""
    program = ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", own_flags="-DEKG_BUILD_", output="script")
    lines = [
        "begin 0 1",
        "advance 5",
        "begin 0 1",
        "advance 3",
        "end 0 1",
        "pulse 0 1",
        "interval",
        "end 1 1",
        "end 0 1",
    ]
    compare(program, lines)


@pytest.mark.parametrize("key", [0, 1, SLOTS - 1, SLOTS, 2**31, 2**32 - 1])
def test_a_beat_is_in_progress_in_every_interval_that_it_spans(script: Path, key: int) -> None:
    found = compare(script, [f"begin 0 {key}", *["advance 10", "interval"] * 3, "advance 1", f"end 0 {key}"])
    assert [(row.open, row.open_ns, row.count) for row in found.rows] == [(1, 10, 0), (1, 20, 0), (1, 30, 0), (0, 0, 1)]
    assert found.rows[-1].sum_ns == 31


def test_a_nested_beat_counts_with_its_own_duration(script: Path) -> None:
    lines = [
        "begin 0 1",
        "advance 5",
        "begin 0 1",
        "advance 3",
        "begin 0 1",
        "advance 1",
        *["end 0 1"] * 2,
        "advance 2",
    ]
    found = compare(script, [*lines, "end 0 1"])
    durations = (1, 4, 11)
    assert found.rows == [
        Row(0, 0, 1, 3, 0, sum(durations), 1, 11, sum(d * d for d in durations), nested_ns=5, executions=3)
    ]


def test_recursion_deeper_than_there_is_room_is_counted_and_leaves_nothing_behind(script: Path) -> None:
    depth, room = 70_000, INLINE_STARTS + DEEP_STARTS
    lines = [f"begin 0 1 {depth}", "advance 2", "interval", f"end 0 1 {depth}", "interval", *["begin 0 1", "advance 4"]]
    found = record(script, [*lines, "end 0 1"])
    assert [row.open for row in found.rows] == [depth, 0, 0]
    assert found.rows[1].count == room
    assert found.rows[1].sum_ns == 2 * room
    assert found.rows[1].nested_ns == 2 * (room - 1)
    assert [interval["dropped"] for interval in found.intervals] == [0, depth - room, 0]
    assert found.rows[2] == Row(2, 0, 1, 1, 0, 4, 4, 4, 16, executions=1)
    assert found.total("unmatched") == 0


def test_the_room_for_deep_recursion_is_shared_by_the_ids_of_a_thread_and_given_back(script: Path) -> None:
    half = DEEP_STARTS // 2 + INLINE_STARTS
    turn = [f"begin 0 1 {half}", f"begin 0 2 {half}", "advance 1", f"end 0 2 {half}", f"end 0 1 {half}"]
    found = record(script, turn * 3)
    assert [row.count for row in found.rows] == [3 * half, 3 * half]
    assert found.total("dropped") == 0


@pytest.mark.parametrize("threads", [1, 4])
def test_2000_ids(script: Path, threads: int) -> None:
    ids = [7 * number for number in range(2000)]
    lines = [f"{edge} {key % threads} {key}" for key in ids for edge in ("begin", "pulse", "end")]
    compare(script, [*lines[:3000], "interval", *lines[3000:]])


def test_ids_that_want_the_same_slot(script: Path) -> None:
    ids = [5 + SLOTS * number for number in range(300)]
    lines = [line for key in ids for line in (f"begin 0 {key}", "advance 1")]
    compare(script, [*lines, *(f"end 0 {key}" for key in ids), *(f"begin 0 {key}" for key in ids)])


def test_beats_of_ids_beyond_8192_in_a_thread_are_counted(script: Path) -> None:
    more = 100
    lines = [f"{edge} 0 {key}" for key in range(SLOTS + more) for edge in ("begin", "end")]
    found = record(script, [*lines, f"pulse 0 {SLOTS + 3}", f"begin 1 {SLOTS + 3}", f"end 1 {SLOTS + 3}"])
    assert found.total("count", thread=0) == SLOTS
    assert found.total("count", thread=1) == 1
    assert found.total("dropped") == more + 1
    assert found.total("unmatched") == 0


def test_an_end_without_begin_is_unmatched(script: Path) -> None:
    found = compare(script, ["end 0 1", "interval", "begin 0 1", "advance 3", "end 0 1", "end 0 1", "end 1 1"])
    assert [interval["unmatched"] for interval in found.intervals] == [1, 2]


def test_a_thread_that_has_ended_many_beats_in_vain_still_finds_one(script: Path) -> None:
    """Looking costs time, and is given up after a while: until the next interval."""
    found = compare(script, ["end 0 1 5000", "advance 1", "interval", "begin 1 1", "advance 9", "end 0 1"])
    assert found.total("count", thread=0) == 1


def test_an_open_beat_at_the_end_of_the_program_is_not_counted(script: Path) -> None:
    found = compare(script, ["begin 0 1", "advance 9"])
    assert found.rows == [Row(0, 0, 1, open=1, open_ns=9)]


def test_a_beat_that_another_thread_ends_counts_there_and_its_owner_goes_on(script: Path) -> None:
    lines = ["begin 0 1", "advance 5", "begin 0 1", "advance 5", "end 1 1", "interval", "advance 1", "end 0 1"]
    found = compare(script, [*lines, "begin 0 1", "advance 2", "end 0 1"])
    by_thread = {thread: found.total("sum_ns", thread=thread) for thread in (0, 1)}
    assert by_thread == {0: 6 + 2, 1: 10}
    assert found.total("nested_ns") == 0


def test_the_oldest_beat_of_all_threads_is_ended_first(script: Path) -> None:
    lines = [f"begin {thread} 1" for thread in (2, 0, 1) for _ in range(2)]
    timed = [line for begin in lines for line in (begin, "advance 10")]
    found = compare(script, [*timed, "end 3 1 6"])
    assert found.rows[0] == Row(0, 3, 1, 6, 0, 210, 10, 60, 9100, executions=6)


def test_hundreds_of_beats_in_flight_from_one_thread_to_another(script: Path) -> None:
    lines = [line for _ in range(300) for line in ("begin 0 1", "advance 1")]
    found = compare(script, [*lines, "end 1 1 200", "begin 0 1", "advance 1", "end 1 1 100", "end 0 1"])
    assert found.total("count") == 301


@pytest.mark.parametrize("factor", [2, 10])
def test_a_rate_factor_holds_for_beats_that_other_threads_end(script: Path, factor: int) -> None:
    turn = ["begin 0 1", "advance 10", "end 1 1", "advance 1"]
    found = compare(script, [f"rate 1 {factor}", *turn * (5 * factor)])
    assert found.total("count") == 5
    assert found.total("unmatched") == 0


@pytest.mark.parametrize("factor", [1, 2, 3, 100, 2**32 - 1])
def test_the_first_of_so_many_beats_is_recorded_with_what_is_nested_in_it(script: Path, factor: int) -> None:
    turn = ["begin 0 1", "advance 3", "begin 0 1", "pulse 0 1", "advance 2", "end 0 1", "end 0 1"]
    found = compare(script, [f"rate 1 {factor}", *turn * 200])
    recorded = -(-200 // factor)
    assert found.total("count") == 2 * recorded
    assert found.total("pulses") == recorded
    assert found.beats[-1]["rate_factor"] == factor


def test_the_rate_factor_of_an_id_wins_over_the_default(script: Path) -> None:
    lines = ["rate 1 4", *["begin 0 1", "end 0 1", "begin 0 2", "end 0 2", "pulse 0 3"] * 20]
    found = compare(script, lines, EKG_RATE="10")
    assert [found.total("count", id=key) for key in (1, 2)] == [5, 2]
    assert found.total("pulses", id=3) == 2


def test_a_lower_factor_holds_at_once(script: Path) -> None:
    turn = ["begin 0 1", "advance 1", "end 0 1"]
    found = compare(script, ["rate 1 1000000", *turn * 5, "rate 1 2", *turn * 10, "interval", "rate 1 0", *turn * 9])
    assert [row.count for row in found.rows] == [6, 9]
    assert [beat["rate_factor"] for beat in found.beats] == [2, 1]


def test_durations_are_exact_up_to_days(script: Path) -> None:
    day = 86_400 * 10**9
    lines = ["begin 0 1", f"advance {day}", "end 0 1", "begin 0 1", "end 0 1", "begin 0 1", "advance 1", "end 0 1"]
    found = record(script, lines)
    (row,) = found.rows
    assert (row.count, row.sum_ns, row.min_ns, row.max_ns) == (3, day + 1, 0, day)
    assert row.sumsq_ns2 == pytest.approx(day * day, rel=1e-15)
