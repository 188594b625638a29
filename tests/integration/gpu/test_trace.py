"""The trace of `record --gpu-trace`, on stand-ins of CUDA's libraries that write down every record."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from incprof.readers.stream.interval_images import DEVICE
from incprof.record.launch import GPU_LIBRARY, _find_library, find_library
from incprof.systems.gpu.read import COPIES, KERNELS, SYNCHRONISATIONS, TRACE, TRACE_KEYS, GpuTrace, read_gpu
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.integration.gpu_activity import activity_in

CUPTI_KINDS = {10: KERNELS, 1: COPIES, 2: COPIES, 38: SYNCHRONISATIONS}
# Kernels end when they are launched: without work in between, those of the second run would overlap with the first's.
WORDS = ("devices:20:1000000", "run:300:1000:500", "streams:60:20000", "copy:1000000:1:2000", "move:30:4096:700",
         "wait:3000000", "burn:5", "run:300:900:1500", "tiny:200")  # fmt: skip


@pytest.fixture
def host(build: Build, record: Record, tmp_path: Path) -> Callable[..., Recording]:
    cupti = build("standin_cupti.c", flags="-O1 -shared -fPIC -pthread", pg=False, output="libcupti.so.12")
    cuda = build("standin_cuda.c", flags="-O1 -shared -fPIC", pg=False, output="libcuda.so.1")
    program = build("gpu_host.c", cuda, flags="-O1 -pthread -fno-optimize-sibling-calls", pg=False, output="gpu_host")

    def run(*words: str, env: Mapping[str, str] | None = None, interval: float = 0.25) -> Recording:
        environment = {
            "INCPROF_EXE": str(program),
            "INCPROF_GPU_TRACE": "1000000",
            "LD_PRELOAD": str(find_library(os.environ)),
            "CUDA_INJECTION64_PATH": str(_find_library(GPU_LIBRARY, os.environ)),
            "INCPROF_CUPTI": str(cupti),
            "STANDIN_CUPTI": str(cupti),
            "STANDIN_TRUTH": str(tmp_path / "truth"),
        }
        return record([program, "burn:60", *words, "burn:60"], env=environment | dict(env or {}), interval=interval)

    return run


def trace_in(recording: Recording) -> tuple[GpuTrace, dict[int, str]]:
    """Return the trace of a recording, and the names of kernels."""
    found = read_gpu(str(recording.directory / "rank-00000.gmon"), traced=True)
    assert found is not None
    assert found.damaged == 0
    assert found.trace is not None
    return found.trace, found.names


def rows_of(trace: GpuTrace, names: Mapping[int, str], start_ns: int) -> Counter[tuple[object, ...]]:
    """Return kind, device, stream, what, start and end on the program's clock, and bytes of each row."""
    columns = (trace.kind, trace.device, trace.stream, trace.what, trace.start_s, trace.seconds, trace.bytes)
    out: Counter[tuple[object, ...]] = Counter()
    for kind, device, stream, what, start_s, seconds, amount in zip(*(one.tolist() for one in columns), strict=True):
        start = start_ns + round(start_s * 1e9)
        name = names[what] if kind == KERNELS else what
        out[kind, device, stream, name, start, start + round(seconds * 1e9), amount] += 1
    return out


def truth_in(path: Path) -> Counter[tuple[object, ...]]:
    """Return the same of the stand-in's records."""
    out: Counter[tuple[object, ...]] = Counter()
    for line in path.read_text().splitlines():
        *numbers, name = line.split(maxsplit=7)
        kind, device, stream, copy, start, end, amount = map(int, numbers)
        if kind not in CUPTI_KINDS:
            continue
        own = CUPTI_KINDS[kind]
        lane = 16 if own == SYNCHRONISATIONS else min(device, 15)
        out[own, lane, stream, name if own == KERNELS else copy, start, end, amount] += 1
    return out


@pytest.mark.parametrize("delivery", ["deliver:0:64", "deliver:7:5", ""])
def test_each_kernel_copy_and_wait_is_in_the_trace_as_it_ran(
    host: Callable[..., Recording], tmp_path: Path, delivery: str
) -> None:
    recording = host(*WORDS, *filter(None, [delivery]))
    trace, names = trace_in(recording)
    start_ns = int(recording.profile.metadata.raw["start_mono_ns"])
    assert rows_of(trace, names, start_ns) == truth_in(tmp_path / "truth")
    assert trace.left_out == 0


def test_launching_paths_are_those_of_the_sums(host: Callable[..., Recording]) -> None:
    # The path of the first launch shows the collector the driver's library.
    recording = host("devices:1:1000", "burn:600", "run:50:1000:1000", "move:20:10:100", "deliver:5:9")
    trace, names = trace_in(recording)
    paths = Counter(
        (names[what] if kind == KERNELS else "copy", recording._path(node))
        for kind, what, node in zip(trace.kind.tolist(), trace.what.tolist(), trace.node.tolist(), strict=True)
        if kind == COPIES or names[what] != "each"
    )
    assert paths == {("_Z5relaxPdi", ("main", "relax")): 50, ("copy", ("main", "move")): 20}


def test_its_size_has_a_bound_which_one_line_reports(host: Callable[..., Recording]) -> None:
    # Copies without a launch have no path, and so are in the trace at once.
    recording = host(*800 * ["copy:4096:1:100"], "deliver:0:64", "run:50:1000:500", env={"INCPROF_GPU_TRACE": "1000"})
    trace, _ = trace_in(recording)
    lines = [each for each in recording.outcome.stderr.splitlines() if "GPU trace" in each]
    assert len(lines) == 1
    assert 0 < len(trace.kind) < 500
    assert len(trace.kind) + trace.left_out == 850
    found = activity_in(recording)
    assert (found.kernels.count.sum(), found.copies.count.sum()) == (50, 800)


@pytest.mark.parametrize("text", ["", "0", "much"])
def test_there_is_none_unless_it_is_asked_for(host: Callable[..., Recording], text: str) -> None:
    recording = host("run:30:1000:500", env={"INCPROF_GPU_TRACE": text})
    found = read_gpu(str(recording.directory / "rank-00000.gmon"), traced=True)
    assert found is not None
    assert found.trace is None
    assert ("INCPROF_GPU_TRACE" in recording.outcome.stderr) == (text == "much")


def without_trace(stream: bytes) -> bytes:
    """Return a stream without its records of the trace, and without sums of its images."""
    out, at = b"", 0
    while at < len(stream):
        head, length = bytearray(stream[at : at + 20]), struct.unpack_from("<I", stream, at + 12)[0]
        payload = stream[at + 20 : at + 20 + length]
        if head[8] == DEVICE:
            payload = b"".join(whole for kind, whole in records(payload) if kind not in (TRACE_KEYS, TRACE))
            head[9] = 0
            head[12:16] = struct.pack("<I", len(payload))
        out += bytes(head) + payload
        at += 20 + length
    return out


def records(payload: bytes) -> list[tuple[int, bytes]]:
    """Return the types of records, and their bytes."""
    out, at = list[tuple[int, bytes]](), 0
    while at < len(payload):
        start, numbers = at, []
        for _ in range(2):
            value = shift = 0
            while payload[at] & 128:
                value, shift, at = value | (payload[at] & 127) << shift, shift + 7, at + 1
            numbers.append(value | payload[at] << shift)
            at += 1
        at += numbers[1]
        out.append((numbers[0], payload[start:at]))
    return out


def answer(directory: Path, *words: str) -> str:
    """Return what a verb prints of a recording."""
    command = [sys.executable, "-m", "incprof", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=directory).stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [["phases", "--card", "--json"], ["phases", "--card"], ["report", "-o", "-"]])
def test_answers_are_the_same_with_and_without_it(
    host: Callable[..., Recording], tmp_path: Path, words: list[str]
) -> None:
    recording = host("devices:1:1000", "burn:600", *WORDS, "burn:300")
    bare = tmp_path / "without" / recording.directory.name
    shutil.copytree(recording.directory, bare)
    stream = bare / "rank-00000.gmon"
    size = stream.stat().st_size
    stream.write_bytes(without_trace(stream.read_bytes()))
    assert stream.stat().st_size < size - 3000
    verb, *options = words
    whole = answer(recording.directory.parent, verb, recording.directory.name, *options)
    assert len(whole) > 1000
    assert whole == answer(bare.parent, verb, bare.name, *options)


def test_exported_traces_have_a_track_for_each_stream(host: Callable[..., Recording], tmp_path: Path) -> None:
    recording = host("devices:1:1000", "burn:600", *WORDS, "deliver:3:8", "burn:300")
    trace, _ = trace_in(recording)
    answer(tmp_path, "export", str(recording.directory), "--format", "trace", "-o", "app.json")
    document = json.loads((tmp_path / "app.json").read_text())
    events = document["traceEvents"]
    tracks = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    kernels = [each for each in events if each.get("cat") == "kernel"]
    assert len(kernels) == int((trace.kind == KERNELS).sum())
    assert sum(each["dur"] for each in kernels) == pytest.approx(1e6 * trace.seconds[trace.kind == KERNELS].sum())
    copies = [each for each in events if each.get("cat") == "gpu_memcpy"]
    assert {each["name"] for each in copies} == {"Memcpy HtoD"}
    assert sum(each["args"]["bytes"] for each in copies) == 1_000_000 + 30 * 4096
    relax = [each for each in kernels if each["name"] == "relax"]
    assert {each["args"]["kernel"] for each in relax} == {"relax(double*, int)"}
    assert {tracks[each["tid"]] for each in relax} == {"GPU 0, stream 7"}
    assert {each["args"]["launched by"] for each in relax if "launched by" in each["args"]} == {"main > relax"}
    assert {each["args"]["at"].partition(":")[0] for each in relax if "at" in each["args"]} == {"gpu_host.c"}
    assert sum(each["cat"] == "gpu_wait" for each in events if "cat" in each) == 1
    for track in tracks:
        own = sorted((each["ts"], each["dur"]) for each in events if each.get("tid") == track and "dur" in each)
        if "GPU" in tracks[track]:
            ends = np.cumsum([0.0])
            for start, length in own:
                assert start >= ends[-1] - 2e-3
                ends = np.append(ends, start + length)


@pytest.mark.slow
def test_an_exported_trace_can_be_imported(host: Callable[..., Recording], tmp_path: Path) -> None:
    recording = host("devices:1:1000", "burn:600", *WORDS, "deliver:3:8", "burn:300")
    answer(tmp_path, "export", str(recording.directory), "--format", "trace", "-o", "app.json")
    answer(tmp_path, "import", "app.json", "-o", "again")
    found = activity_in(recording)
    again = read_gpu(str(next((tmp_path / "again").glob("*.gmon"))))
    assert again is not None
    assert again.kernels.count.sum() == found.kernels.count.sum()
    assert again.copies.bytes.sum() == found.copies.bytes.sum()


def test_the_flag_records_gpus_and_is_no_part_of_all(tmp_path: Path) -> None:
    shown = [
        "--",
        sys.executable,
        "-c",
        "import os; print(os.environ.get('INCPROF_GPU'), os.environ.get('INCPROF_GPU_TRACE'))",
    ]
    flags = {
        ("--gpu-trace",): "1 33554432",
        ("--gpu-trace=2M",): "1 2097152",
        ("--gpu",): "1 None",
        ("--all",): "1 None",
    }
    for words, expected in flags.items():
        assert answer(tmp_path, "record", "-o", "run", *words, *shown).strip() == expected
