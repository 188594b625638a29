"""What libincprof_hip.so records, on a stand-in of HIP and rocprofiler-sdk whose programs print what is true."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from incprof.record.launch import HIP_LIBRARY, _find_library, find_library
from incprof.systems.gpu.read import (
    COPIES,
    COPY_NAMES,
    HOST,
    KERNELS,
    OLD_ROCPROFILER,
    OTHER_STREAMS,
    ROCPROFILER_REFUSED,
    SYNCHRONISATIONS,
    read_gpu,
)
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.integration.gpu_activity import activity_in, agrees

BURN = "burn:60"
MILLI = 1_000_000
VERSIONS = ("600", "10000")  # before and after records of calls and callbacks got another field


@pytest.fixture
def library() -> str:
    return str(_find_library(HIP_LIBRARY, os.environ))


@pytest.fixture
def host(build: Build, record: Record, library: str) -> Callable[..., Recording]:
    hip = build("standin_rocprofiler.c", flags="-O1 -shared -fPIC -pthread", pg=False, output="libamdhip64.so.6")
    program = build("gpu_host.c", hip, flags="-O1 -pthread -fno-optimize-sibling-calls", pg=False, output="hip_host")

    def run(*words: str, env: Mapping[str, str] | None = None, status: int = 0, interval: float = 0.25) -> Recording:
        environment = {
            "INCPROF_EXE": str(program),
            "LD_PRELOAD": str(find_library(os.environ)),
            "ROCP_TOOL_LIBRARIES": library,
        }
        words = (BURN, *words, BURN)
        return record([program, *words], env=environment | dict(env or {}), interval=interval, status=status)

    return run


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("delivery", ["deliver:0:64", "deliver:7:5", "deliver:99:4000", ""])
def test_kernels_copies_and_waits_are_exact(host: Callable[..., Recording], version: str, delivery: str) -> None:
    words = ["run:300:100000:50000", "copy:1000000:1:2000", "copy:77:2:500", "wait:3000000", *filter(None, [delivery])]
    recording = host(*words, env={"STANDIN_VERSION": version})
    found = activity_in(recording)
    agrees(found, recording.outcome)
    busy_ns = round(found.busy.seconds[found.busy.device == 0].sum() * 1e9)
    assert 300 * 100000 <= busy_ns <= 300 * 100000 + 2500
    assert round(found.busy.seconds[found.busy.device == HOST].sum() * 1e9) == 3 * MILLI
    assert found.synchronisations.what.tolist() == [3]
    assert found.names[int(found.kernels.what[0])] == "_Z5relaxPdi"
    assert {COPY_NAMES[kind] for kind in found.copies.what.tolist()} == {"host to device", "device to host"}
    assert found.devices == {0: "Stand-in GPU"}
    assert found.version == int(version)


def test_queues_overlap_and_copies_have_a_stream_of_their_own(host: Callable[..., Recording]) -> None:
    recording = host("streams:400:200000", "move:30:5000:2000", "deliver:3:17")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert set(zip(found.streams.device.tolist(), found.streams.what.tolist(), strict=True)) == {
        (3, 1), (3, 2), (3, 3), (3, 4), (0, 0)
    }  # fmt: skip
    assert round(found.busy.seconds.sum() * 1e9) == recording.outcome.values()["busy_ns"]


def test_the_launching_path_of_each_kernel_and_copy(host: Callable[..., Recording]) -> None:
    # The path of the first launch shows the collector the library of HIP.
    recording = host("devices:1:1000", "burn:600", "run:50:1000:1000", "tiny:70", "move:40:1000:500", "deliver:5:9")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    count: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for name, node, number in zip(found.kernels.what, found.kernels.node, found.kernels.count, strict=True):
        count[found.names[int(name)], recording._path(int(node))] += int(number)
    del count[next(key for key in count if key[0] == "each")]
    assert count == {("_Z5relaxPdi", ("main", "relax")): 50, ("tiny", ("main", "shuttle")): 70}
    assert {recording._path(int(node)) for node in found.copies.node} == {("main", "move")}


def test_records_are_asked_for_once_a_second(host: Callable[..., Recording]) -> None:
    # The program is killed: only what the library asked for has come.
    recording = host("run:10:1000:1000", "burn:1800", "run:7:1000:1000", "burn:300", "kill", status=-9)
    found = activity_in(recording)
    assert found.totals.launches in (10, 17)
    assert found.kernels.count.sum() >= 10


@pytest.mark.parametrize("word", ["_exit", "kill"])
def test_what_was_not_delivered_before_a_sudden_end_is_missing(host: Callable[..., Recording], word: str) -> None:
    words = ["run:10:1000:1000", "deliver:0:100", "run:7:1000:1000", "burn:600", word]
    found = activity_in(host(*words, env={"STANDIN_HOLDS": "1"}, status={"_exit": 3, "kill": -9}[word]))
    assert found.totals.launches == 17
    assert found.missing == 7
    assert found.kernels.count.sum() == 10


def test_threads_and_more_devices_than_have_numbers(host: Callable[..., Recording]) -> None:
    recording = host("devices:20:1000000", "threads:8", "deliver:11:100")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert set(found.busy.device.tolist()) == set(range(16))


def test_kernels_of_a_graph_are_launches_of_their_own(host: Callable[..., Recording]) -> None:
    found = activity_in(host("graph:30", "run:5:1000:1000"))
    assert found.totals.launches == found.totals.kernels == 35
    assert found.missing == 0


def test_a_clock_of_its_own_is_converted(host: Callable[..., Recording]) -> None:
    behind = {"STANDIN_CLOCK": str(40 * 10**9)}
    recording = host("burn:300", "run:10:1000000:0", "wait:3000", "deliver:0:5", env=behind)
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert found.kernels.start_s.min() >= 0
    assert found.kernels.start_s.max() <= recording.profile.end_s[-1]


def test_dropped_records_kernels_that_have_not_ended_and_nonsense(host: Callable[..., Recording]) -> None:
    found = activity_in(host("run:5:1000:1000", "open", env={"STANDIN_DROPPED": "12", "STANDIN_WILD": "1"}))
    assert found.totals.dropped == 12
    assert found.totals.incomplete >= 1
    assert found.kernels.count.sum() == 5
    assert found.busy.seconds.sum() * 1e9 == pytest.approx(5000)


@pytest.mark.parametrize(
    ("env", "state", "line"),
    [
        ({"STANDIN_REFUSES": "1"}, ROCPROFILER_REFUSED, "rocprofiler-sdk refuses"),
        ({"STANDIN_VERSION": "500"}, OLD_ROCPROFILER, "older than that of ROCm 6.4"),
    ],
)
def test_it_steps_back_with_one_line(
    host: Callable[..., Recording], env: dict[str, str], state: int, line: str
) -> None:
    recording = host("run:10:1000:1000", env=env)
    found = activity_in(recording)
    assert found.state == state
    assert not len(found.kernels.count)
    lines = [each for each in recording.outcome.stderr.splitlines() if "libincprof_hip" in each]
    assert len(lines) == 1
    assert line in lines[0]
    assert recording.outcome.values()["kernels"] == 10


def test_without_the_collector_nothing_is_traced(host: Callable[..., Recording]) -> None:
    recording = host("run:10:1000:1000", env={"LD_PRELOAD": "", "STANDIN_REFUSES": "1"})
    assert recording.outcome.stderr == ""
    assert recording.outcome.values()["kernels"] == 10


def test_a_forked_child_and_the_next_program(host: Callable[..., Recording]) -> None:
    recording = host("run:10:1000:1000", "fork", "exec", "run:20:1000:1000")
    streams = sorted(recording.directory.glob("rank-*.gmon"))
    found = [each for each in (read_gpu(str(path)) for path in streams) if each is not None]
    assert len(streams) == len(found) + 1
    assert max(int(each.kernels.count.sum()) for each in found) == 20


def test_the_trace_has_each_kernel_copy_and_wait(host: Callable[..., Recording]) -> None:
    words = ["streams:40:2000", "move:30:5000:2000", "wait:3000000", "deliver:3:17"]
    recording = host(*words, env={"INCPROF_GPU_TRACE": "1000000"})
    agrees(activity_in(recording), recording.outcome)
    found = read_gpu(str(recording.directory / "rank-00000.gmon"), traced=True)
    assert found is not None
    assert found.trace is not None
    rows = Counter(zip(found.trace.kind.tolist(), found.trace.stream.tolist(), strict=True))
    assert rows == {(KERNELS, 1): 10, (KERNELS, 2): 10, (KERNELS, 3): 10, (KERNELS, 4): 10, (COPIES, 0): 30,
                    (SYNCHRONISATIONS, OTHER_STREAMS): 1}  # fmt: skip
    assert found.trace.bytes.sum() == recording.outcome.values()["copied"]


def test_the_users_own_tool_comes_first(host: Callable[..., Recording], library: str, tmp_path: Path) -> None:
    # The stand-in, as rocprofiler-sdk does, drops the last of a list that no colon follows.
    recording = host("run:10:1000:1000", env={"ROCP_TOOL_LIBRARIES": f"{tmp_path}/absent.so:{library}:"})
    agrees(activity_in(recording), recording.outcome)
