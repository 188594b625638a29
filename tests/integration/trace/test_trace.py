"""Traced MPI programs: every call, in order, with its partner, bytes, requests and place; under both MPIs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from incprof.systems.mpi.trace_types import MpiEvent
from tests.integration.mpi_traces import (
    FIXTURES,
    INCPROF,
    Mpi,
    counted,
    events_of,
    run,
    said,
    sequence,
    traces_of,
)


def traced(mpi: Mpi, ranks: int, scenario: str, cwd: Path) -> dict[int, list[MpiEvent]]:
    outcome = mpi.trace(ranks, mpi.build("calls.c"), scenario, cwd=cwd)
    assert (outcome.returncode, outcome.stdout) == (0, "done\n"), outcome
    said_by_us = [line for line in outcome.stderr.splitlines() if "incprof" in line]
    assert said_by_us == [f"incprof trace: MPI trace written; show it with: incprof trace --show {cwd / 'run'}"]
    return events_of(cwd / "run")


def test_weights_of_three_to_one(mpi: Mpi, tmp_path: Path) -> None:
    found = traced(mpi, 3, "weights", tmp_path)
    exchange = "Sendrecv +1 t5 80 | -1 t5 80 < -1 t5 80"
    assert sequence(found[1]) == [*[exchange] * 3, "Allreduce 16"] * 4
    for events in found.values():
        assert [event.call.site for event in events][1:5] == [events[1].call.site] * 3 + [events[4].call.site]
        assert all(one.end_ns <= other.start_ns for one, other in pairwise(events))
        assert all(0 <= e.work_ns <= e.start_ns and e.start_ns <= e.end_ns for e in events)


@pytest.mark.slow
def test_the_wildcard_of_a_master_is_resolved(mpi: Mpi, tmp_path: Path) -> None:
    found = traced(mpi, 3, "master", tmp_path)
    calls = sequence(found[0])
    assert sorted(calls[::2]) == [
        "Recv * t None".replace(" t None", "") + f" 512 < {d:+d} t{20 + r} {8 * r}" for r, d in ((1, 1), (2, -1))
    ]
    assert sorted(calls[1::2]) == ["Send +1 t9 4", "Send -1 t9 4"]
    assert sequence(found[2]) == ["Send +1 t22 16", "Recv +1 t9 4 < +1 t9 4"]


@pytest.mark.slow
def test_nested_loops_on_two_communicators(mpi: Mpi, tmp_path: Path) -> None:
    found = traced(mpi, 4, "nested", tmp_path)
    inner = ["Bcast@2 {} 16", "Barrier@2", "Barrier@2"] * 3
    for rank, (root, reduced) in {0: ("+0", "+1"), 3: ("-1", "+2")}.items():
        body = [call.format(root) if rank == 0 else call.format("+1") for call in inner]
        assert root
        calls = ["Comm_split", *[*body, f"Reduce {reduced} 8"] * 2, "Comm_free@2"]
        assert sequence(found[rank]) == calls
    split = found[3][2].call.where
    assert split is not None
    assert (split.rank, split.size, [split.world_rank(rank) for rank in range(2)]) == (1, 2, [1, 3])


def test_persistent_requests_are_matched_with_their_starts(mpi: Mpi, tmp_path: Path) -> None:
    calls = sequence(traced(mpi, 3, "persistent", tmp_path)[0])
    assert calls == [
        "Recv_init -1 t3 64",
        "Send_init +1 t3 64",
        *["Startall !(1, 2)", "Waitall [2 -1 t3 64] [1]"] * 4,
        "Start !(1,)",
        "Send +1 t3 64",
        "Wait [1 -1 t3 64]",
        "Request_free",
        "Request_free",
    ]


def test_any_and_some_return_the_request_that_ended(mpi: Mpi, tmp_path: Path) -> None:
    calls = sequence(traced(mpi, 2, "any", tmp_path)[0])
    assert calls[:9] == [
        *[f"Irecv +1 t{tag} 8" for tag in (30, 31, 32)],
        *[f"{one} {two}" for age, tag in ((1, 2), (2, 1), (3, 0)) for one, two in
          (("Send", f"+1 t{40 + tag} 0"), ("Waitany", f"[{age} +1 t{30 + tag} 8]"))],
    ]  # fmt: skip
    assert calls[9:12] == [f"Irecv * t{tag} 64" for tag in (50, 51, 52)]
    ended = re.findall(r"\[(\d) \+1 t(\d+) (\d+)\]", " ".join(calls[12:]))
    assert sorted(ended) == [("1", "52", "24"), ("2", "51", "16"), ("3", "50", "8")]


def test_threads_have_lanes_of_their_own(mpi: Mpi, tmp_path: Path) -> None:
    found = traced(mpi, 2, "threads", tmp_path)
    for events in found.values():
        lanes = {event.lane: event.thread for event in events}
        assert len(set(lanes.values())) == len(lanes) >= 2
        assert len({event.thread for event in events}) == 4
        for thread in {event.thread for event in events if event.call.function == "Wait"}:
            own = [event for event in events if event.thread == thread]
            number = own[0].call.where.number - 2 if own[0].call.where else -1
            exchange = ["Irecv", "Send", "Wait"]
            assert [event.call.function for event in own] == exchange * 50
            assert {said(event) for event in own if event.call.function == "Wait"} == {
                f"Wait [1 +1 t{number} {8 * (1 + number)}]"
            }


def test_windows_files_neighbours_and_two_groups(mpi: Mpi, tmp_path: Path) -> None:
    found = traced(mpi, 2, "others", tmp_path)
    for rank in range(2):
        assert sequence(found[rank]) == [
            "Win_create", "Win_fence@2", "Put@2 +1 16", "Win_fence@2", "Win_free@2",
            "File_open", "File_write_at@2 32", "File_close@2",
            "Cart_create", "Neighbor_alltoall@2 24", "Comm_split", "Intercomm_create@3",
            "Sendrecv@4 +0 t8 4 | +0 t8 4 < +0 t8 4", "Comm_free@4", "Comm_free@3", "Comm_free@2",
        ]  # fmt: skip
        objects = [(event.call.new.kind, event.call.new.name) for event in found[rank] if event.call.new]
        assert objects[:2] == [("window", ""), ("file", "shared.bin")]
        both = found[rank][13].call.where
        assert both is not None
        assert both.world_rank(0) == 1 - rank


def test_pcontrol_turns_the_trace_off_and_on(mpi: Mpi, tmp_path: Path) -> None:
    calls = sequence(traced(mpi, 2, "control", tmp_path)[0])
    assert calls == ["Irecv +1 t1 4", "Barrier", "Pcontrol =0", "Pcontrol =1", "Send +1 t2 4", "Wait", "Barrier"]


@pytest.mark.parametrize(
    "binding", ["F08", *(pytest.param(binding, marks=pytest.mark.slow) for binding in ("MODULE_MPI", "MPIF"))]
)
def test_fortran_bindings(mpi: Mpi, tmp_path: Path, binding: str) -> None:
    outcome = mpi.trace(2, mpi.build("calls.F90", f"-D{binding}"), cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, ""), outcome
    step = ["Irecv@2 * t{0} 80", "Isend@2 +1 t{0} 80", "Waitall [2 +1 t{0} 80] [1]", "Allreduce@2 80"]
    shown = run([*INCPROF, "trace", "--show", "run", "--json"], tmp_path)
    places = {
        call["function"]: (Path(call["file"]).name, call["line"])
        for call in json.loads(shown.stdout)["ranks"][1]["calls"]
    }
    source = (FIXTURES / "calls.F90").read_text().splitlines()
    for events in events_of(tmp_path / "run").values():
        assert sequence(events) == [
            "Comm_split",
            *[call.format(i) for i in (1, 2, 3) for call in step],
            "Sendrecv +1 t4 40 | * t4 80 < +1 t4 40",
            f"Sendrecv t4 40 | t4 80 < {'*' if 'any' in str(events[-2].call.actual) else ''} 0".replace("<  0", "< 0"),
        ]
    for function in ("MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce"):
        file, line = places[function]
        assert (file, f"call {function}(" in source[line - 1]) == ("calls.F90", True)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "word"), [("abort", "abort"), ("kill", None), ("segv", None)])
def test_what_was_written_before_a_sudden_end_is_there(mpi: Mpi, tmp_path: Path, how: str, word: str | None) -> None:
    plain = run(mpi.launch(2, mpi.build("calls.c"), how), tmp_path)
    outcome = mpi.trace(2, mpi.build("calls.c"), how, cwd=tmp_path)
    numbers = re.compile(r"\d+")
    assert (outcome.returncode, numbers.sub("", outcome.stdout)) == (plain.returncode, numbers.sub("", plain.stdout))
    events, end = traces_of(tmp_path / "run")[1]
    assert counted(events)["Barrier"] >= 100
    assert set(counted(events)) <= {"Init", "Barrier", "Abort =7"}
    assert (end.how, end.damaged, end.torn) == (word, 0, False)
    if how == "abort":
        assert said(events[-1]) == "Abort =7"
    shown = run([*INCPROF, "trace", "--show", "run"], tmp_path)
    assert shown.returncode == 0
    assert ("MPI_Abort" if word else "did not end cleanly") in shown.stderr


@pytest.mark.slow
def test_a_full_disk_ends_the_trace_and_not_the_program(mpi: Mpi, tmp_path: Path) -> None:
    outcome = mpi.trace(1, mpi.build("calls.c"), "many", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "done\n"), outcome
    lines = [line for line in outcome.stderr.splitlines() if "incprof" in line]
    assert len(lines) == 1
    assert "the trace stops here" in lines[0]
    events, end = traces_of(tmp_path / "run")[0]
    assert (end.how, end.damaged) == (None, 0)
    assert counted(events) <= Counter({"Init": 1} | {f"Iprobe * t{tag} =0": 3000 for tag in range(100)})


def test_the_status_is_the_programs(mpi: Mpi, tmp_path: Path) -> None:
    outcome = run(
        [*INCPROF, "trace", "-o", "run", "--", *mpi.launch(1, mpi.build("calls.c"), "5", "weights")], tmp_path
    )
    assert (outcome.returncode, outcome.stdout) == (5, "done\n")
    ((events, end),) = traces_of(tmp_path / "run").values()
    assert (len(events), end.how, end.events) == (18, "finalize", 18)


@pytest.mark.slow
def test_with_a_profile_of_the_same_run(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.build("calls.c")
    words = mpi.launch(2, *INCPROF, "record", "--", *INCPROF, "trace", "--", program, "weights")
    outcome = run(words, tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "done\n"), outcome
    (directory,) = tmp_path.glob("gmon-*")
    assert {path.name for path in directory.iterdir()} >= {"rank-00000.mpi", "rank-00001.mpi"}


@pytest.mark.slow
def test_a_python_program_that_loads_its_mpi_late(mpi: Mpi, tmp_path: Path) -> None:
    soname = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[mpi.name]
    (tmp_path / "late.c").write_text(
        "#include <mpi.h>\nvoid work(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_SELF); MPI_Finalize(); }\n"
    )
    subprocess.run([f"mpicc.{mpi.name}", "-shared", "-fPIC", "late.c", "-o", "late.so"], cwd=tmp_path, check=True)
    assert soname in subprocess.run(["ldd", "late.so"], cwd=tmp_path, capture_output=True, text=True).stdout
    code = "import ctypes; ctypes.CDLL('./late.so').work()"
    outcome = mpi.trace(1, sys.executable, "-c", code, cwd=tmp_path)
    assert outcome.returncode == 0, outcome
    assert sequence(events_of(tmp_path / "run")[0]) == ["Barrier"]


@pytest.mark.slow
def test_an_mpi_without_wrappers_is_reported_and_the_program_runs(mpi: Mpi, tmp_path: Path) -> None:
    outcome = mpi.trace(1, mpi.build("calls.c"), "weights", cwd=tmp_path, INCPROF_TRACE_MPI="libother.so.1=/nowhere.so")
    assert (outcome.returncode, outcome.stdout) == (0, "done\n")
    assert outcome.stderr.count("this program's MPI is not supported, nothing is traced") == 1
    assert not (tmp_path / "run").exists()
