"""What libincprof_opencl.so records of programs that use Debian's pocl, whose own events and counts are the truth."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from incprof.readers.stream.interval_images import recorded_paths
from incprof.record.launch import OPENCL_LIBRARY, _find_library, find_library
from incprof.systems.gpu.read import (
    COPIES,
    COPY_NAMES,
    HOST,
    KERNELS,
    OTHER_STREAMS,
    RECORDED,
    SYNCHRONISATIONS,
    GpuActivity,
    read_gpu,
)
from tests.integration.collector import Outcome, Recording
from tests.integration.conftest import Build, Record
from tests.integration.gpu_activity import activity_in

HAS_OPENCL = Path("/usr/include/CL/cl.h").exists() and any(Path("/etc/OpenCL/vendors").glob("pocl*.icd"))
pytestmark = pytest.mark.skipif(not HAS_OPENCL, reason="pocl-opencl-icd and ocl-icd-opencl-dev are not installed")
FLAGS = "-O1 -pthread -fno-optimize-sibling-calls"
PROFILED, OUT_OF_ORDER = 2, 1


@pytest.fixture
def layer() -> str:
    return str(_find_library(OPENCL_LIBRARY, os.environ))


@pytest.fixture
def program(build: Build) -> Path:
    # The library follows the sources, because the linker of some systems drops it otherwise.
    return build("opencl_host.c", flags=f"{FLAGS} -Wl,--no-as-needed -lOpenCL", pg=False, output="opencl_host")


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where pocl keeps compiled kernels, and nothing in the home directory."""
    return str(tmp_path_factory.getbasetemp() / "pocl")


@pytest.fixture
def host(program: Path, layer: str, cache: str, record: Record) -> Callable[..., Recording]:
    def run(
        *words: str, env: Mapping[str, str] | None = None, status: int = 0, command: Path | None = None
    ) -> Recording:
        environment = {
            "INCPROF_EXE": str(command or program),
            "LD_PRELOAD": str(find_library(os.environ)),
            "OPENCL_LAYERS": layer,
            "POCL_CACHE_DIR": cache,
            "POCL_MAX_PTHREAD_COUNT": "2",
        }
        return record([command or program, *words], env=environment | dict(env or {}), status=status)

    return run


def agrees(found: GpuActivity, outcome: Outcome) -> None:
    """Check counts, and times where all queues are profiled by the program, against those that it printed."""
    told = outcome.values()
    assert found.state == RECORDED
    assert found.totals.launches == found.totals.kernels == told["kernels"]
    assert found.totals.incomplete == found.totals.lost == 0
    assert found.kernels.count.sum() == told["kernels"]
    assert found.synchronisations.count[found.synchronisations.what != 5].sum() <= told["waits"]


def test_kernels_and_their_time_are_those_of_the_programs_events(host: Callable[..., Recording]) -> None:
    recording = host("start", f"queue:{PROFILED}", "run:40:2000", "run:40:100", "stop")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert round(found.kernels.seconds.sum() * 1e9) == recording.outcome.values()["kernel_ns"]
    device_s = found.busy.seconds[found.busy.device == 0].sum()
    assert 0 < device_s <= found.kernels.seconds.sum() + 1e-9
    assert {found.names[int(what)] for what in found.kernels.what} == {"relax"}
    assert found.kernels.start_s.min() >= -found.offset_s
    assert found.kernels.start_s.max() <= recording.profile.end_s[-1]
    assert found.devices[0]


def test_a_queue_that_runs_in_any_order(host: Callable[..., Recording]) -> None:
    recording = host("start", f"queue:{PROFILED | OUT_OF_ORDER}", "run:300:100", "run:5:5000", "stop")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    assert round(found.kernels.seconds.sum() * 1e9) == recording.outcome.values()["kernel_ns"]


def test_the_trace_has_each_command_on_its_queue(host: Callable[..., Recording]) -> None:
    queues = ["start", f"queue:{PROFILED}", "run:40:2000", f"queue:{PROFILED}", "run:40:100", "copy:100000", "stop"]
    recording = host(*queues, env={"INCPROF_GPU_TRACE": "1000000"})
    found = read_gpu(str(recording.directory / "rank-00000.gmon"), traced=True)
    assert found is not None
    agrees(found, recording.outcome)
    assert found.trace is not None
    trace = found.trace
    for kind, rows in ((KERNELS, found.kernels), (COPIES, found.copies), (SYNCHRONISATIONS, found.synchronisations)):
        own = trace.kind == kind
        assert own.sum() == rows.count.sum()
        assert round(trace.seconds[own].sum() * 1e9) == round(rows.seconds.sum() * 1e9)
        assert trace.bytes[own].sum() == rows.bytes.sum()
    assert round(trace.seconds[trace.kind == KERNELS].sum() * 1e9) == recording.outcome.values()["kernel_ns"]
    on_device = trace.device != HOST
    by_queue = Counter(trace.stream[trace.kind == KERNELS].tolist())
    assert sorted(by_queue.values()) == [40, 40]
    # A wait in clFinish is for a queue.
    assert {*trace.stream[trace.kind == SYNCHRONISATIONS].tolist()} <= {
        *trace.stream[on_device].tolist(),
        OTHER_STREAMS,
    }


def test_copies_by_direction_and_waits(host: Callable[..., Recording]) -> None:
    recording = host("start", "copy:100000", "copy:50000", "stop")
    found = activity_in(recording)
    moved: Counter[str] = Counter()
    for what, size in zip(found.copies.what, found.copies.bytes, strict=True):
        moved[COPY_NAMES[int(what)]] += int(size)
    assert moved == dict.fromkeys(("host to device", "device to host", "memset", "mapped"), 150000) | {"unmapped": 0}
    assert found.synchronisations.count.sum() == recording.outcome.values()["waits"]
    assert found.busy.seconds[found.busy.device == HOST].sum() > 0


def test_events_that_are_released_early_or_never_asked_for(host: Callable[..., Recording]) -> None:
    # The path of the first launch shows the collector the layer.
    recording = host("start", "run:1:10", "burn:600", "tiny:2000", "finish", "stop")
    found = activity_in(recording)
    agrees(found, recording.outcome)
    stream = str(recording.directory / "rank-00000.gmon")
    paths = recorded_paths(stream, str(recording.directory), exe=None)
    assert paths is not None
    names = {
        tuple(paths.functions[int(paths.tree.function[at])].name for at in paths.path_to(int(node)))[:2]
        for what, node in zip(found.kernels.what, found.kernels.node, strict=True)
        if node > 0 and found.names[int(what)] == "tiny"
    }
    assert names == {("main", "shuttle")}


def test_threads_with_contexts_and_queues_of_their_own(host: Callable[..., Recording]) -> None:
    recording = host("threads:6")
    found = activity_in(recording)
    agrees(found, recording.outcome)


def test_many_queues_one_after_the_other(host: Callable[..., Recording]) -> None:
    recording = host("start", "queues:1500", "run:3:10", "stop")
    agrees(activity_in(recording), recording.outcome)


def test_what_the_program_reads_is_what_it_reads_without_the_layer(
    host: Callable[..., Recording], program: Path, cache: str, tmp_path: Path
) -> None:
    words = ["start", "ask", "queue:0", "ask", "queue:1", "ask", f"queue:{PROFILED}", "ask", "run:5:10", "stop"]
    environment = {**os.environ, "POCL_CACHE_DIR": cache}
    alone = subprocess.run(
        [str(program), *words], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    recorded = host(*words).outcome.stdout

    def lines(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith("kernel_ns")]

    assert lines(recorded) == lines(alone.stdout)
    assert "properties 0" in lines(recorded)
    assert "profiling -7" in lines(recorded)


def test_a_program_that_ends_without_waiting_has_its_kernels_counted_as_missing(host: Callable[..., Recording]) -> None:
    # pocl, also alone, may crash if the program ends while it compiles a kernel: that is over after the first ones.
    recording = host("start", "run:1:10", "tiny:1", "finish", "run:20:10", "tiny:20", "end")
    found = activity_in(recording)
    assert found.totals.launches == 42
    assert found.missing == 42 - found.totals.kernels
    assert 22 <= found.totals.kernels <= 42


def test_a_forked_child_records_nothing_and_the_parent_goes_on(host: Callable[..., Recording]) -> None:
    recording = host("start", "run:5:10", "fork", "run:5:10", "stop")
    agrees(activity_in(recording), recording.outcome)
    others = [path.name for path in recording.directory.glob("rank-*.gmon") if path.name != "rank-00000.gmon"]
    assert all(read_gpu(str(recording.directory / name)) is None for name in others)


def test_a_child_that_is_not_followed_finds_no_lock_held(host: Callable[..., Recording]) -> None:
    """Another thread launches at the moments of the forks."""
    recording = host("start", "forks:200", "stop", env={"INCPROF_FOLLOW": "0"})
    assert activity_in(recording).totals.launches >= 100


def test_libopencl_is_loaded_and_unloaded(host: Callable[..., Recording], build: Build) -> None:
    library = build(
        "opencl_host.c",
        flags=f"{FLAGS} -shared -fPIC -Wl,--no-as-needed -lOpenCL",
        pg=False,
        output="libopencl_host.so",
    )
    loader = build("opencl_loader.c", flags="-O1", pg=False, output="opencl_loader")
    recording = host(str(library), "start", "run:7:10", "stop", command=loader)
    assert recording.outcome.values()["unloaded"] == 2
    found = activity_in(recording)
    assert found.totals.launches == found.totals.kernels == 14


@pytest.mark.parametrize("is_first", [True, False])
def test_beside_a_layer_of_somebody_elses(
    host: Callable[..., Recording], build: Build, layer: str, is_first: bool
) -> None:
    other = build("opencl_other_layer.c", flags="-O1 -shared -fPIC", pg=False, output="libother_layer.so")
    layers = [str(other), layer] if is_first else [layer, str(other)]
    recording = host("start", "run:9:10", "stop", env={"OPENCL_LAYERS": ":".join(layers)})
    told = recording.outcome.values()
    assert told.pop("other_layer") == 9
    assert activity_in(recording).totals.kernels == told["kernels"] == 9


def test_without_the_collector_or_a_driver_the_layer_is_silent(
    program: Path, layer: str, cache: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "OPENCL_LAYERS": layer, "POCL_CACHE_DIR": cache}
    words = [str(program), "start", "ask", "run:3:10", "stop"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert done.stderr == ""
    assert "kernels 4" in done.stdout
    (tmp_path / "empty").mkdir()
    environment["OCL_ICD_VENDORS"] = str(tmp_path / "empty")
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 9
    assert len(done.stderr.splitlines()) == 1


def test_a_program_that_enqueues_nothing_has_no_images(host: Callable[..., Recording]) -> None:
    recording = host("start", "burn:100", "stop")
    assert read_gpu(str(recording.directory / "rank-00000.gmon")) is None


def test_record_sets_the_layer(program: Path, cache: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "incprof", "record", "--gpu", "-o", str(tmp_path / "run"), "--"]
    environment = {**os.environ, "POCL_CACHE_DIR": cache}
    done = subprocess.run(
        [*words, str(program), "start", "run:6:10", "stop"],
        capture_output=True, text=True, check=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert "kernels 6" in done.stdout
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found is not None
    assert found.totals.kernels == 6
