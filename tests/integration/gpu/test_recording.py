"""What libincprof_cuda.so records, on stand-ins of libcuda and libcupti whose programs print what is true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from incprof.record.launch import GPU_LIBRARY, _find_library, find_library
from incprof.systems.gpu.read import (
    ANY_DEVICE,
    DEVICE_OR_WAIT,
    HOST,
    NO_CUPTI,
    OLD_CUPTI,
    OTHER_STREAMS,
    OTHER_SUBSCRIBER,
    REFUSED,
    GpuRows,
    read_gpu,
)
from tests.integration.collector import FIXTURES, Recording
from tests.integration.conftest import Build, Record
from tests.integration.gpu_activity import activity_in, agrees

BURN = "burn:60"
MILLI = 1_000_000


@pytest.fixture
def host(build: Build, record: Record) -> Callable[..., Recording]:
    cupti = build("standin_cupti.c", flags="-O1 -shared -fPIC -pthread", pg=False, output="libcupti.so.12")
    cuda = build("standin_cuda.c", flags="-O1 -shared -fPIC", pg=False, output="libcuda.so.1")
    program = build("gpu_host.c", cuda, flags="-O1 -pthread -fno-optimize-sibling-calls", pg=False, output="gpu_host")

    def run(*words: str, env: Mapping[str, str] | None = None, status: int = 0, interval: float = 0.25) -> Recording:
        environment = {
            "INCPROF_EXE": str(program),
            "LD_PRELOAD": str(find_library(os.environ)),
            "CUDA_INJECTION64_PATH": str(_find_library(GPU_LIBRARY, os.environ)),
            "INCPROF_CUPTI": str(cupti),
            "STANDIN_CUPTI": str(cupti),
        }
        words = (BURN, *words, BURN)
        return record([program, *words], env=environment | dict(env or {}), interval=interval, status=status)

    return run


@pytest.mark.parametrize("delivery", ["deliver:0:64", "deliver:7:5", "deliver:99:4000", ""])
def test_kernels_copies_and_waits_are_exact(host: Callable[..., Recording], delivery: str) -> None:
    words = ["run:300:100000:50000", "copy:1000000:1:2000", "copy:77:2:500", "wait:3000000", *filter(None, [delivery])]
    recording = host(*words)
    found = activity_in(recording)
    agrees(found, recording.outcome)
    on_device = found.busy.device == 0
    # Copies lie inside the time of no kernel, or of the last one.
    busy_ns = round(found.busy.seconds[on_device].sum() * 1e9)
    assert 300 * 100000 <= busy_ns <= 300 * 100000 + 2500
    assert round(found.busy.seconds[found.busy.device == HOST].sum() * 1e9) == 3 * MILLI
    assert found.names[int(found.kernels.what[0])] == "_Z5relaxPdi"


def test_overlapping_streams_count_once(host: Callable[..., Recording]) -> None:
    recording = host("streams:400:200000", "deliver:3:17")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert round(found.busy.seconds.sum() * 1e9) == recording.outcome.values()["busy_ns"]


def seconds_of(rows: GpuRows) -> dict[tuple[int, int], float]:
    """Return seconds by device and what."""
    sums: Counter[tuple[int, int]] = Counter()
    for device, what, seconds in zip(rows.device.tolist(), rows.what.tolist(), rows.seconds, strict=True):
        sums[device, what] += seconds
    return {key: pytest.approx(value) for key, value in sums.items()}


def test_the_busy_time_of_each_stream(host: Callable[..., Recording]) -> None:
    recording = host("streams:400:200000", "run:10:1000:0", "move:30:5000:2000", "deliver:3:17")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    # On each of the four streams, a kernel follows another after twice its time.
    assert seconds_of(found.streams) == {(3, 0): 0.02, (3, 1): 0.02, (3, 2): 0.02, (3, 3): 0.02, (0, 7): 1e-5,
                                         (0, 3): 6e-5}  # fmt: skip
    assert found.devices == {0: "Stand-in GPU"}


def test_streams_beyond_the_limit_share_a_lane(host: Callable[..., Recording]) -> None:
    found = activity_in(host("many:100:1000"))
    streams = seconds_of(found.streams)
    assert len(streams) == 64
    # They run at the same time.
    assert streams[0, OTHER_STREAMS] == 1e-6
    assert {stream for _, stream in streams} == {*range(63), OTHER_STREAMS}


def test_the_time_in_which_host_and_device_are_busy(host: Callable[..., Recording]) -> None:
    # The last 3 ms: a kernel runs for all of it on one device, for 1 ms on others; the host waits for 2 ms.
    found = activity_in(host("run:1:3000000:0", "devices:3:1000000", "wait:2000000", "deliver:5:3"))
    lanes = {what: seconds for (_, what), seconds in seconds_of(found.overlaps).items()}
    started_ns = round((lanes[DEVICE_OR_WAIT].expected - lanes[ANY_DEVICE].expected) * 1e9)
    # Each ends when its word is read: the spans do not begin and end at once.
    assert round(lanes[ANY_DEVICE].expected * 1e9) >= 3 * MILLI
    assert 0 <= started_ns <= 2 * MILLI
    assert (found.overlaps.device == HOST).all()


def test_slots_begin_where_the_recording_says(host: Callable[..., Recording]) -> None:
    found = activity_in(host("run:1:1000:0"))
    assert 0 < found.offset_s < found.slot_s


def test_the_launching_path_of_each_copy(host: Callable[..., Recording]) -> None:
    recording = host("devices:1:1000", "burn:600", "move:40:1000:500", "deliver:5:9")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    paths = {recording._path(int(node)) for node in np.unique(found.copies.node)}
    assert paths == {("main", "move")}
    assert found.copies.bytes.sum() == 40_000


def test_the_launching_path_of_each_kernel(host: Callable[..., Recording]) -> None:
    # The path of the first launch shows the collector the driver's library.
    recording = host("devices:1:1000", "burn:600", "run:50:1000:1000", "tiny:70", "deliver:5:9")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    count: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for name, node, number in zip(found.kernels.what, found.kernels.node, found.kernels.count, strict=True):
        count[found.names[int(name)], recording._path(int(node))] += int(number)
    first = {("each", ("main",)), ("each", ())} & set(count)
    assert len(first) == 1
    count.pop(first.pop())
    assert count == {("_Z5relaxPdi", ("main", "relax")): 50, ("tiny", ("main", "shuttle")): 70}


def test_paths_of_many_launches_are_sampled_and_none_is_missing(host: Callable[..., Recording]) -> None:
    recording = host("tiny:200000", interval=0.1)
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert found.launches_per_path > 1
    sampled = found.kernels.node > 0
    assert {recording._path(int(node)) for node in np.unique(found.kernels.node[sampled])} == {("main", "shuttle")}


def test_devices_and_threads(host: Callable[..., Recording]) -> None:
    recording = host("devices:20:1000000", "threads:8", "deliver:11:100")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    # Devices from the 16th on count as one.
    assert set(found.busy.device.tolist()) == set(range(16))


def test_a_graph_is_one_launch_of_many_kernels(host: Callable[..., Recording]) -> None:
    found = activity_in(host("graph:30", "run:5:1000:1000"))
    assert found.totals.graph_launches == 1
    assert found.totals.graph_kernels == 30
    assert found.totals.launches == found.totals.kernels == 5
    assert found.missing == 0


@pytest.mark.parametrize("version", ["14", "130500"])
def test_captured_and_failed_launches_are_not_missing(host: Callable[..., Recording], version: str) -> None:
    words = ["capture:10", "graph:10", "fail:3", "run:5:1000:1000", "capture:1", "fail:1"]
    found = activity_in(host(*words, env={"STANDIN_VERSION": version}))
    assert found.totals.graph_kernels == 10
    assert found.totals.launches == found.totals.kernels == 5
    assert found.missing == 0


def test_launches_of_programs_built_by_cuda_13(host: Callable[..., Recording]) -> None:
    recording = host("devices:1:1000", "burn:600", "run:50:1000:1000", "deliver:5:9", env={"STANDIN_RUNTIME": "505"})
    found = activity_in(recording)
    agrees(found, recording.outcome)
    relaxed = found.kernels.count == 50
    assert [recording._path(int(node)) for node in found.kernels.node[relaxed]] == [("main", "relax")]


def test_a_long_kernel_is_busy_from_its_beginning(host: Callable[..., Recording]) -> None:
    recording = host("run:1:1000:0", "deliver:0:5", "burn:8000", "run:1:7400000000:0")
    found = activity_in(recording)
    assert round(found.busy.seconds.sum() * 1e9) == 7_400_001_000
    assert found.totals.late_ns == 0


def test_records_are_asked_for_once_a_second(host: Callable[..., Recording]) -> None:
    # The program is killed: only what the library asked for has come.
    recording = host("run:10:1000:1000", "burn:1800", "run:7:1000:1000", "burn:300", "kill", status=-9)
    found = activity_in(recording)
    assert found.totals.launches in (10, 17)
    assert found.kernels.count.sum() >= 10


def test_dropped_records_are_reported_as_missing(host: Callable[..., Recording]) -> None:
    found = activity_in(host("run:5:1000:1000", "open", env={"STANDIN_DROPPED": "12"}))
    assert found.totals.dropped == 12
    assert found.totals.incomplete == 1


def test_a_clock_of_its_own_is_converted(host: Callable[..., Recording]) -> None:
    behind = {"STANDIN_CLOCK": str(40 * 10**9)}
    recording = host("burn:300", "run:10:1000000:0", "deliver:0:5", env=behind)
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert found.kernels.start_s.min() >= 0
    assert found.kernels.start_s.max() <= recording.profile.end_s[-1]


def test_records_of_nonsense_do_no_harm(host: Callable[..., Recording]) -> None:
    recording = host("run:100:1000:1000", "deliver:4:10", env={"STANDIN_WILD": "1"})
    found = activity_in(recording)
    assert found.kernels.count.sum() == 100
    assert found.busy.seconds.sum() * 1e9 == pytest.approx(100_000)


@pytest.mark.parametrize(
    ("env", "state", "line"),
    [
        ({"STANDIN_HELD": "1"}, OTHER_SUBSCRIBER, "another profiler uses CUPTI"),
        ({"STANDIN_VERSION": "12"}, OLD_CUPTI, "older than CUDA 11.0"),
        ({"STANDIN_NO_SUBSCRIBER": "15"}, REFUSED, "CUPTI refuses: is it newer than the CUDA driver?"),
        ({"STANDIN_NO_SUBSCRIBER": "999"}, REFUSED, "CUPTI refuses: CUPTI_ERROR_UNKNOWN"),
        ({"STANDIN_NO_KERNELS": "35"}, REFUSED, "CUPTI refuses: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
        ({"INCPROF_CUPTI": "/nonexistent/libcupti.so", "STANDIN_CUPTI": ""}, NO_CUPTI, "libcupti was not found"),
    ],
)
def test_it_steps_back_with_one_line(
    host: Callable[..., Recording], env: dict[str, str], state: int, line: str
) -> None:
    recording = host("run:10:1000:1000", env=env)
    found = activity_in(recording)
    assert found.state == state
    assert not len(found.kernels.count)
    lines = [each for each in recording.outcome.stderr.splitlines() if "libincprof_cuda" in each]
    assert len(lines) == 1
    assert line in lines[0]
    assert recording.outcome.values()["kernels"] == 10


def test_one_process_of_a_job_reports_why_nothing_is_recorded(build: Build, tmp_path: Path) -> None:
    cuda = build("standin_cuda.c", flags="-O1 -shared -fPIC", pg=False, output="libcuda.so.1")
    program = build("gpu_host.c", cuda, flags="-O1 -pthread -fno-optimize-sibling-calls", pg=False, output="gpu_host")
    env = {**os.environ, "INCPROF_CUPTI": "/nonexistent/libcupti.so", "INCPROF_LOG": "warn"}
    script = f"for i in 1 2 3; do '{program}' {BURN} run:1:10:10 fork exec run:1:10:10 & done; wait"
    words = [sys.executable, "-m", "incprof", "record", "--gpu", "-o", "run", "--", "sh", "-c", script]
    for _ in range(2):  # the second job writes into run.1
        done = subprocess.run(words, env=env, check=True, capture_output=True, text=True, cwd=tmp_path)
        lines = [line for line in done.stderr.splitlines() if "libcupti" in line]
        assert lines == ["libincprof_cuda: GPU activity is not recorded: libcupti was not found: "
                         "INCPROF_CUPTI names none that can be loaded"]  # fmt: skip
    # A child that used no GPU and no time has no stream.
    assert len([*tmp_path.glob("run.1/rank-*.gmon")]) >= 3
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("run")) == ["run", "run.1"]


def test_without_the_collector_nothing_is_subscribed(host: Callable[..., Recording]) -> None:
    recording = host("run:10:1000:1000", env={"LD_PRELOAD": "", "STANDIN_HELD": "1"})
    assert recording.outcome.stderr == ""
    assert recording.outcome.values()["kernels"] == 10


def test_a_forked_child_and_the_next_program(host: Callable[..., Recording]) -> None:
    recording = host("run:10:1000:1000", "fork", "exec", "run:20:1000:1000")
    names = sorted(path.name for path in recording.directory.glob("rank-*.gmon"))
    counts = {name: read_gpu(str(recording.directory / name)) for name in names}
    found = [int(each.kernels.count.sum()) for each in counts.values() if each is not None]
    # exec does not run the handlers of exit: what CUPTI had kept is missing, which the totals show.
    assert sorted(found)[-1] == 20
    assert {each.missing for each in counts.values() if each is not None} <= {0, 10}
    assert len([each for each in counts.values() if each is None]) == 1


@pytest.mark.parametrize(("word", "status"), [("_exit", 3), ("kill", -9)])
def test_what_was_not_delivered_before_a_sudden_end_is_missing(
    host: Callable[..., Recording], word: str, status: int
) -> None:
    words = ["run:10:1000:1000", "deliver:0:100", "run:7:1000:1000", "burn:600", word]
    recording = host(*words, env={"STANDIN_HOLDS": "1"}, status=status)
    found = activity_in(recording)
    assert found.totals.launches == 17
    assert found.missing == 7
    assert found.kernels.count.sum() == 10


def test_the_card_shows_kernels_their_launching_lines_and_what_they_mean(
    host: Callable[..., Recording], tmp_path: Path
) -> None:
    recording = host("devices:1:1000", "burn:600", "run:5000:1000:20000", "copy:5000000:1:1000000", "burn:300")
    words = [sys.executable, "-m", "incprof", "phases", str(recording.directory), "--card", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    cards = [phase["card"]["device"] for phase in json.loads(done.stdout)["phases"]]
    kernels = [kernel for each in cards for kernel in each["kernels"]]
    assert sum(each["launches"] for each in cards) == pytest.approx(5001, abs=2)
    relax = [kernel for kernel in kernels if kernel["name"] == "relax(double*, int)" and kernel["path"]]
    assert relax
    assert {kernel["path"][-1] for kernel in relax} == {"relax"}
    source = (FIXTURES / "gpu_host.c").read_text().splitlines()
    assert {source[kernel["line"] - 1].strip().split("(")[0] for kernel in relax} == {"cudaLaunchKernel"}
    assert sum(kernel["count"] for kernel in relax) == pytest.approx(5000, abs=2)
    assert sum(copy["bytes"] for each in cards for copy in each["copies"]) == pytest.approx(5e6)


def test_libcupti_is_found_beside_the_programs_libcudart(
    host: Callable[..., Recording], build: Build, tmp_path: Path
) -> None:
    # As in the wheels: nvidia/cuda_runtime/lib and nvidia/cuda_cupti/lib.
    runtime, cupti = (tmp_path / "nvidia" / part / "lib" for part in ("cuda_runtime", "cuda_cupti"))
    for folder, source, name in (
        (runtime, "plain_lib.c", "libcudart.so.12"),
        (cupti, "standin_cupti.c", "libcupti.so.12"),
    ):
        folder.mkdir(parents=True)
        made = build(source, flags="-O1 -shared -fPIC -pthread", pg=False, output=name)
        (folder / name).write_bytes(made.read_bytes())
    preload = f"{find_library(os.environ)}:{runtime / 'libcudart.so.12'}"
    env = {"INCPROF_CUPTI": "", "STANDIN_CUPTI": str(cupti / "libcupti.so.12"), "LD_PRELOAD": preload}
    recording = host("run:10:1000:1000", env=env)
    agrees(activity_in(recording), recording.outcome)


def test_kernels_of_a_program_in_python(build: Build, tmp_path: Path) -> None:
    cupti = build("standin_cupti.c", flags="-O1 -shared -fPIC -pthread", pg=False, output="libcupti.so.12")
    cuda = build("standin_cuda.c", flags="-O1 -shared -fPIC", pg=False, output="libcuda.so.1")
    script, directory = FIXTURES / "gpu_host.py", tmp_path / "run"
    env = {**os.environ, "INCPROF_CUPTI": str(cupti), "STANDIN_CUPTI": str(cupti), "STANDIN_CUDA": str(cuda)}
    incprof = [sys.executable, "-m", "incprof"]
    recording = [*incprof, "record", "--gpu", "-i", "0.25", "-o", str(directory), "--", sys.executable, str(script)]
    # The path of the first launch shows the collector the driver's library, from the next interval on.
    subprocess.run([*recording, "0.6"], env=env, check=True, capture_output=True)
    words = [*incprof, "phases", str(directory), "--card", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    cards = [phase["card"]["device"] for phase in json.loads(done.stdout)["phases"]]
    kernels = {kernel["name"]: kernel for card in cards for kernel in card["kernels"] if kernel["name"] != "first"}
    line = 1 + next(at for at, text in enumerate(script.read_text().splitlines()) if "# the launching line" in text)
    for name, function in (("gemm", "forward"), ("gemm_grad", "backward")):
        assert kernels[name]["path"][-2:] == [f"gpu_host.py:{function}", "gpu_host.py:launch"]
        assert (kernels[name]["file"], kernels[name]["line"]) == (str(script), line)
    assert sum(kernel["count"] for card in cards for kernel in card["kernels"]) == pytest.approx(101, abs=2)
