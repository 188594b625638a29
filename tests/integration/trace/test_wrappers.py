"""What the wrappers of MPI calls must not do to a program: its arguments, its error handlers and other tools behind."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from incprof.model.time_use import MPI, cpu_seconds_by_kind
from incprof.readers.run import open_run, read_profile
from incprof.systems.mpi.trace_types import MpiEvent
from tests.integration.mpi_traces import INCPROF, Mpi, events_of, run, said, sequence


@pytest.mark.slow
def test_insignificant_arguments_of_collectives_may_be_anything(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("collectives.c")
    plain = run(mpi.launch(3, program), tmp_path)
    outcome = mpi.trace(3, program, cwd=tmp_path)
    assert (plain.returncode, outcome.returncode) == (0, 0), outcome
    assert sorted(outcome.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    calls = {int(rank): int(number) for rank, number in re.findall(r"rank (\d): (\d+) calls", plain.stdout)}
    from_one = {0: "{} +0 {}", 1: "{} root {}", 2: "{} +0 {}"}
    from_two = {0: "{} root {}", 1: "{} +0 {}", 2: "{} {}"}
    into_one, into_two = {0: (8, 0, 8), 1: (8, 16, 0), 2: (8, 0, 8)}, {0: (8, 8, 0), 1: (8, 0, 8), 2: (0, 0, 0)}
    for rank, events in events_of(tmp_path / "run").items():
        kinds = ("collective", "icollective", "persistent")
        assert sum(event.call.kind in kinds for event in events) == calls[rank] > 100
        between = [event for event in events if event.call.where and event.call.where.number == 4]
        blocking = [said(event) for event in between if event.call.kind == "collective"]
        functions = ("Bcast@4", "Scatterv@4", "Gatherv@4")
        rooted = [call for call in blocking if call.split()[0] in functions]
        assert sorted(rooted) == sorted(
            form[rank].format(function, size)
            for form, into in ((from_one, into_one), (from_two, into_two))
            for function, size in zip(functions, into[rank], strict=True)
        )


@pytest.mark.slow
def test_what_a_delete_callback_frees_is_forgotten(mpi: Mpi, tmp_path: Path) -> None:
    outcome = mpi.trace(2, mpi.build("kept.c"), cwd=tmp_path)
    assert outcome.returncode == 0, outcome
    assert "\n0 handles" not in "\n" + outcome.stdout
    for events in events_of(tmp_path / "run").values():
        barriers = [event for event in events if event.call.function == "Barrier"]
        sums = [event for event in events if event.call.function == "Alltoallv"]
        assert [(e.call.where.size, e.call.where.rank) for e in sums if e.call.where] == [(1, 0)] * 80
        assert [e.call.where.size for e in barriers if e.call.where] == [2] * 40


def edge(mpi: Mpi, ranks: int, scenario: str, cwd: Path) -> dict[int, list[MpiEvent]]:
    """The events of a scenario of edges.c."""
    outcome = mpi.trace(ranks, mpi.build("edges.c"), scenario, cwd=cwd)
    assert outcome.returncode == 0, outcome
    return events_of(cwd / "run")


def test_a_datatype_of_more_than_2_gib(mpi: Mpi, tmp_path: Path) -> None:
    assert sequence(edge(mpi, 1, "large", tmp_path)[0]) == [f"Bcast +0 {3000 << 20}"]


def test_what_an_error_handler_leaves_by_a_jump_has_failed(mpi: Mpi, tmp_path: Path) -> None:
    events = edge(mpi, 1, "jumps", tmp_path)[0]
    assert sequence(events) == [call for tag in range(3) for call in (f"Send +0 t{tag} 4", "Barrier")]
    assert [event.call.function for event in events if event.call.failed] == ["Send"] * 3


@pytest.mark.slow
def test_what_an_exception_leaves_has_failed(mpi: Mpi, tmp_path: Path) -> None:
    outcome = mpi.trace(1, mpi.build("throws.cpp"), cwd=tmp_path)
    assert outcome.returncode == 0, outcome
    events = events_of(tmp_path / "run")[0]
    assert sequence(events) == [call for tag in range(3) for call in (f"Send +0 t{tag} 4", "Barrier")]
    assert [event.call.function for event in events if event.call.failed] == ["Send"] * 3


def test_requests_that_end_in_a_call_that_fails(mpi: Mpi, tmp_path: Path) -> None:
    calls = sequence(edge(mpi, 1, "errors", tmp_path)[0])
    posts = ["Irecv +0 t1 4", "Irecv +0 t2 8", "Isend +0 t1 8", "Isend +0 t2 8"]
    for each in (calls[:14], calls[14:]):
        assert (each[:4], each[6:10]) == (posts, posts)
        assert sorted(re.findall(r"\[(\d)", "".join(each[4:6]))) == ["1", "2", "3", "4"]
        assert [re.sub(r"(\[4).*\]", r"\1]", call) for call in each[10:]] == [
            "Wait [4]", "Wait [3 +0 t2 8]", "Wait [2]", "Wait [1]",
        ]  # fmt: skip


def test_without_memory_for_a_status_the_received_message_is_unknown(mpi: Mpi, tmp_path: Path) -> None:
    both = "Sendrecv +0 t1 4 | +0 t1 4"
    assert sequence(edge(mpi, 1, "poor", tmp_path)[0]) == [f"{both} < +0 t1 4", both]


def test_another_tool_behind_counts_the_same_calls(mpi: Mpi, tmp_path: Path) -> None:
    program, tool = mpi.build("tooled.c"), mpi.build("tool.c", "-shared", "-fPIC")
    outcome = mpi.trace(1, program, cwd=tmp_path, LD_PRELOAD=str(tool))
    assert outcome.returncode == 0, outcome
    found = Counter(event.call.function for event in events_of(tmp_path / "run")[0])
    expected = {name: int(number) for name, number in re.findall(r"calls: (\w+) (\d+)", outcome.stdout)}
    assert expected["Pcontrol"] == 6
    assert found == Counter(expected) + Counter(Init=1, Finalize=1)
    assert re.findall(r"tool: (.*)", outcome.stdout) == ["solver 0.5", "1234567"] * 3


def test_sessions_are_reported_as_untraced(mpi: Mpi, tmp_path: Path) -> None:
    outcome = mpi.trace(2, mpi.build("session.c"), cwd=tmp_path)
    if outcome.returncode == 77:
        pytest.skip("this MPI has no sessions")
    assert (outcome.returncode, outcome.stdout) == (0, "2\n2\n"), outcome
    assert outcome.stderr.count("MPI was used, but not MPI_Init: nothing is traced") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("is_inside", [True, False])
def test_a_recording_beside_a_trace_attributes_the_wrappers_to_mpi(mpi: Mpi, tmp_path: Path, is_inside: bool) -> None:
    """Behind incprof trace, the recording has the program only."""
    record = [*INCPROF, "record", "-i", "0.1", "-o", "run", "--"]
    trace = [*INCPROF, "trace", "--"]
    words = mpi.launch(1, *(trace + record if is_inside else record + trace), mpi.build("spins.c"))
    outcome = run(words, tmp_path)
    assert outcome.returncode == 0, outcome
    assert len(list((tmp_path / "run").glob("*.gmon"))) == (1 if is_inside else 2)
    assert (tmp_path / "run" / "rank-00000.mpi").is_file()
    profile = read_profile(open_run(str(tmp_path / "run")), libs="named")
    assert not [f.name for f in profile.functions if "wrapper" in f.name or "incprof" in f.module]
    own = dict(zip((f.name for f in profile.functions), profile.self_s.sum(axis=0).tolist(), strict=True))
    assert own["MPI_Allreduce"] > 0.25
    assert cpu_seconds_by_kind(profile)[:, MPI].sum() > 0.25
