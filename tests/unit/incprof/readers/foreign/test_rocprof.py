"""Kernel traces of rocprofv3, as they are and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import NoDataError
from incprof.readers.foreign.formats import detect_format
from incprof.readers.foreign.rocprof import read_rocprof
from incprof.readers.run import open_run, read_profile
from incprof.systems.gpu.read import read_gpu

HEAD = '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
MILLI = 1_000_000


def row(name: str, start: int, end: int, queue: int = 1) -> str:
    return f'"KERNEL_DISPATCH",1,{queue},7,"{name}",3,{start},{end}\n'


def written(folder: Path, text: str) -> str:
    (folder / "run_kernel_trace.csv").write_text(text)
    return str(folder / "run_kernel_trace.csv")


def trace() -> str:
    """1 s of a kernel of 4 ms on one queue and short ones on another, then 1 s of another kernel."""
    rows = [row("relax(double*, int) [clone .kd]", at * 5 * MILLI, (at * 5 + 4) * MILLI) for at in range(200)]
    rows += [row("tiny", at * MILLI, at * MILLI + 2000, 2) for at in range(1000)]
    rows += [row("product", (1000 + at * 5) * MILLI, (1005 + at * 5) * MILLI) for at in range(200)]
    return HEAD + "".join(rows)


def test_kernels_become_functions_with_their_time(tmp_path: Path) -> None:
    path = written(tmp_path, trace())
    assert detect_format([path]) == "rocprofv3"
    assert main(["import", path, "-o", str(tmp_path / "run"), "-i", "0.1"]) == 0
    profile = read_profile(open_run(tmp_path / "run"))
    seconds = np.asarray(profile.self_s.sum(axis=0)).ravel()
    by_name = {function.name: time for function, time in zip(profile.functions, seconds, strict=True)}
    assert by_name["product"] == pytest.approx(1.0, rel=0.03)
    assert next(time for name, time in by_name.items() if "relax" in name) == pytest.approx(0.8, rel=0.03)
    assert profile.end_s[-1] == pytest.approx(2.0, abs=0.11)


def calls_of(folder: Path) -> list[str]:
    """Traces of copies, of calls and of ranges beside that of kernels."""
    copies = folder / "run_memory_copy_trace.csv"
    copies.write_text(
        '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
        '"Start_Timestamp","End_Timestamp"\n'
        f'"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","1",900,{500 * MILLI},{520 * MILLI}\n'
    )
    head = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    calls = folder / "run_hip_api_trace.csv"
    rows = [f'"HIP_RUNTIME_API_EXT","hipLaunchKernel",1,5,3,{MILLI},{MILLI + 9}\n',
            f'"HIP_RUNTIME_API","hipMemcpy",1,5,900,{490 * MILLI},{521 * MILLI}\n',
            f'"HIP_RUNTIME_API","hipDeviceSynchronize",1,5,901,{600 * MILLI},{640 * MILLI}\n']  # fmt: skip
    calls.write_text(head + "".join(rows))
    ranges = folder / "run_marker_api_trace.csv"
    ranges.write_text(head + f'"MARKER_CORE_API","solve",1,5,990,0,{300 * MILLI}\n')
    return [str(copies), str(calls), str(ranges)]


def test_device_work_is_that_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, trace())
    assert main(["import", path, *calls_of(tmp_path), "-o", str(tmp_path / "run"), "-i", "0.1"]) == 0
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found is not None
    assert found.damaged == 0
    assert found.kernels.count.sum() == 1400
    assert found.kernels.seconds.sum() == pytest.approx(1.802)
    assert found.copies.seconds.sum() == pytest.approx(0.02)
    assert found.synchronisations.seconds.sum() == pytest.approx(0.04)
    assert found.devices == {0: "agent 1"}
    capsys.readouterr()
    assert main(["phases", str(tmp_path / "run"), "--card", "--json"]) == 0
    cards = [phase["card"]["device"] for phase in json.loads(capsys.readouterr().out)["phases"]]
    # All kernels have the correlation of one call here.
    assert {tuple(kernel["path"]) for card in cards for kernel in card["kernels"]} == {("[solve]",)}
    assert [copy["direction"] for card in cards for copy in card["copies"]] == ["host to device"]


def test_damaged_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = row("a", 5, 3) + row("a", 0, 10 * MILLI) + '"KERNEL_DISPATCH",1\n' + row("a", -3, 7)
    found = read_rocprof(written(tmp_path, HEAD + rows))
    assert found.damaged
    assert "3 damaged rows left out" in found.notes[-1]
    assert len(found.timelines[0]) == 1


@pytest.mark.parametrize("text", [HEAD, "a,b\n1,2\n", ""])
def test_bad_input_ends_with_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, text)
    assert main(["import", "--from", "rocprofv3", path, "-o", str(tmp_path / "run")]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 1


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=80), st.integers(0, 400), st.integers(0, 60))
def test_hostile_input_ends_in_an_answer_or_an_error(tmp_path: Path, noise: bytes, at: int, cut: int) -> None:
    whole = (HEAD + "".join(row("kernel", n * 1000, n * 1000 + 500) for n in range(5))).encode()
    path = tmp_path / "kernel_trace.csv"
    path.write_bytes(whole[:at] + noise + whole[at + cut :])
    try:
        found = read_rocprof(str(path))
    except NoDataError:
        return
    assert len(found.timelines[0])
