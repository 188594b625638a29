"""Every call of a -pg function is counted, with its caller, whatever the threads do."""

from __future__ import annotations

import pytest

from tests.integration.conftest import Build, Record


def test_callers_are_distinguished(build: Build, record: Record) -> None:
    arcs = record(build("arcs.c")).arcs()
    assert {caller: n for (caller, callee), n in arcs.items() if callee == "target"} == {"a": 3, "b": 5, "main": 2}
    assert arcs["main", "a"] == arcs["main", "b"] == 1


def test_recursion_counts_every_level(build: Build, record: Record) -> None:
    recording = record(build("arcs.c"))
    arcs, calls = recording.arcs(), recording.calls()
    assert (arcs["main", "even"], arcs["even", "odd"], arcs["odd", "even"]) == (1, 50, 50)
    assert (calls["even"], calls["odd"]) == (51, 50)
    assert (arcs["main", "down"], arcs["down", "down"], calls["down"]) == (1, 999, 1000)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_lose_no_call(build: Build, record: Record, threads: int) -> None:
    """Threads that return, threads that call pthread_exit, and calls made by their data's destructors."""
    recording = record([build("threads.c", flags="-O2 -pthread"), str(threads)])
    arcs = recording.arcs()
    assert recording.calls()["run"] == threads
    assert arcs["run", "work"] == 1_000_000 * threads
    assert arcs["work", "leaf"] == 2_000_000 * threads
    assert arcs["last_words", "leaf"] == threads


def test_thousand_short_threads(build: Build, record: Record) -> None:
    recording = record(build("waves.c", flags="-O2 -pthread"))
    assert recording.calls()["run"] == 1000
    assert recording.arcs()["run", "leaf"] == 500_000


@pytest.mark.parametrize(
    "held", [pytest.param((), id="running"), pytest.param(("held",), id="held", marks=pytest.mark.slow)]
)
def test_threads_that_come_and_go_all_the_time(build: Build, record: Record, held: tuple[str, ...]) -> None:
    """No call is lost, and memory is used again, whether the interval thread gets to run or not."""
    program = build("churn.c", flags="-O2 -pthread")
    recording = record([program, "20000", *held], interval=60, env={"INCPROF_FOLLOW": "0"})
    said, calls = recording.outcome.values(), recording.calls()
    if said.get("held") == 0:
        pytest.skip("a program cannot trace itself here")
    assert said["threads"] == calls["run"] == calls["work"] == 20_000
    assert calls["leaf"] == 2_000_000
    assert said["memory"] < 20_000 * 40 / 10
    samples = recording.profile.samples
    assert int(samples.thread.max()) <= 20_000


@pytest.mark.parametrize("clock", ["cpu", "perf"])
def test_threads_that_pthread_create_did_not_make(build: Build, record: Record, clock: str) -> None:
    """They are counted, and the library's first look at them spoils no argument in a vector register."""
    recording = record(build("foreign.c", flags="-O1 -pthread"), clock=clock)
    assert recording.outcome.stdout == "36 7\n36\n"
    assert recording.calls()["sum"] == 2


def test_calls_from_a_signal_handler(build: Build, record: Record) -> None:
    recording = record(build("handler_calls.c"))
    handled = recording.outcome.values()["handled"]
    arcs = recording.arcs()
    assert handled > 0
    assert arcs["main", "leaf"] == 30_000_000
    assert (arcs["from_handler", "shared"], arcs["main", "shared"]) == (handled, 30_000)
    assert arcs["on_signal", "from_handler"] == recording.calls()["on_signal"] == handled


@pytest.mark.slow
def test_three_billion_calls(build: Build, record: Record) -> None:
    """More calls of one function in one interval than 31 bits hold."""
    recording = record(build("billions.c"), interval=60)
    assert recording.arcs()["first", "leaf"] == 2_000_000_000
    assert recording.arcs()["second", "leaf"] == 1_000_000_000
    assert recording.calls()["leaf"] == 3_000_000_000


def test_what_a_call_costs_is_measured_and_is_no_call_of_the_programs(build: Build, record: Record) -> None:
    recording = record(build("arcs.c"))
    call_s = recording.profile.metadata.call_s
    assert call_s is None or 0 < call_s < 1e-4  # None: on a machine so busy that no two trials compare
    assert recording.outcome.stderr == ""
    assert not any("call_cost" in function.mangled for function in recording.profile.functions)
