"""What libincprof_openmp.so records: on a stand-in of OpenMP's run-time, and (slow) of LLVM's host offload itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from incprof.record.launch import OPENMP_LIBRARY, _find_library, find_library, layers_value
from incprof.systems.gpu.read import COPY_NAMES, HOST, KERNELS, RECORDED, SYNCHRONISATIONS, read_gpu
from tests.integration.collector import FIXTURES, Recording
from tests.integration.conftest import Build, Record
from tests.integration.gpu_activity import activity_in


@pytest.fixture
def library() -> str:
    return str(_find_library(OPENMP_LIBRARY, os.environ))


@pytest.fixture
def host(build: Build, record: Record, library: str) -> Callable[..., Recording]:
    flags = "-O1 -rdynamic -pthread -fno-optimize-sibling-calls"
    program = build("openmp_host.c", flags=flags, pg=False, output="openmp_host")

    def run(*words: str, env: Mapping[str, str] | None = None) -> Recording:
        environment = {
            "INCPROF_EXE": str(program),
            "LD_PRELOAD": str(find_library(os.environ)),
            "OMP_TOOL_LIBRARIES": library,
        }
        return record([program, *words, "burn:60"], env=environment | dict(env or {}))

    return run


def test_regions_and_copies(host: Callable[..., Recording]) -> None:
    # The path of the first region shows the collector the library.
    recording = host("relax:1:1", "burn:600", "relax:40:500", "shuttle:30:100", "cuda:7")
    found, told = activity_in(recording), recording.outcome.values()
    assert found.state == RECORDED
    assert found.totals.launches == found.totals.kernels == told["kernels"] == 71
    assert found.missing == 0
    # Only a bound is certain: a region also lasts while its thread waits for a processor.
    assert round(found.kernels.seconds.sum() * 1e9) >= told["least_ns"]
    moved: Counter[str] = Counter()
    for what, size in zip(found.copies.what, found.copies.bytes, strict=True):
        moved[COPY_NAMES[int(what)]] += int(size)
    assert moved == {"host to device": 30_000, "device to host": 30_000}
    assert found.copies.bytes.sum() == told["copied"]
    assert found.synchronisations.count.sum() == 71 + 60
    assert set(found.busy.device.tolist()) == {0, HOST}
    assert found.devices == {0: "host, as a device of OpenMP"}
    count: Counter[tuple[str, str]] = Counter()
    for what, node, number in zip(found.kernels.what, found.kernels.node, found.kernels.count, strict=True):
        path = recording._path(int(node))
        count[found.names[int(what)], path[1] if len(path) > 1 else ""] += int(number)
    assert count["target_region_1", "relax"] >= 40
    assert count["target_region_2", "shuttle"] == 30
    assert {name for name, _ in count} == {"target_region_1", "target_region_2"}


def test_the_card_names_regions_by_function_and_line(host: Callable[..., Recording]) -> None:
    recording = host("relax:1:1", "burn:600", "shuttle:200:1000", env={"INCPROF_GPU_TRACE": "1000000"})
    words = [sys.executable, "-m", "incprof", "phases", str(recording.directory), "--card", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    cards = [phase["card"]["device"] for phase in json.loads(done.stdout)["phases"]]
    shuttle = [each for card in cards for each in card["kernels"] if each["path"][-1:] == ["shuttle"]]
    assert 100 <= sum(each["count"] for each in shuttle) <= 202  # a transition between phases has none
    ((name, line),) = {(each["name"], each["line"]) for each in shuttle}
    assert name == f"shuttle:{line} (target region)"
    source = (FIXTURES / "openmp_host.c").read_text().splitlines()
    assert "SUBMIT" in source[line - 1]
    found = read_gpu(str(recording.directory / "rank-00000.gmon"), traced=True)
    assert found is not None
    assert found.trace is not None
    kinds = Counter(found.trace.kind.tolist())
    assert (kinds[KERNELS], kinds[SYNCHRONISATIONS]) == (201, 601)


def test_threads_and_a_forked_child(host: Callable[..., Recording]) -> None:
    recording = host("relax:5:10", "threads:6", "fork", "relax:5:10")
    found = activity_in(recording)
    assert found.totals.launches == found.totals.kernels == recording.outcome.values()["kernels"] == 310
    others = [path.name for path in recording.directory.glob("rank-*.gmon") if path.name != "rank-00000.gmon"]
    assert all(read_gpu(str(recording.directory / name)) is None for name in others)


def test_without_the_collector_or_regions_there_is_no_tool(host: Callable[..., Recording], library: str) -> None:
    recording = host("relax:5:10", env={"LD_PRELOAD": ""})
    assert recording.outcome.values()["tool"] == 0
    assert recording.outcome.stderr == ""
    script = f"import ctypes; print(ctypes.CDLL({library!r}).ompt_start_tool(201611, b''))"
    environment = {**os.environ, "LD_PRELOAD": str(find_library(os.environ))}
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_tools_of_the_user_come_first() -> None:
    assert layers_value(Path("/lib/ours.so"), "/lib/theirs.so") == "/lib/theirs.so:/lib/ours.so"


# LLVM's own host offload. Its packages cannot be installed beside Debian's older default, so they are only unpacked.

PACKAGES = ("clang-tools-19", "libomp-19-dev", "libomp5-19")
TARGET = "x86_64-pc-linux-gnu"


@pytest.fixture(scope="module")
def llvm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of LLVM 19 with host offload."""
    place, clang = tmp_path_factory.mktemp("llvm"), shutil.which("clang-19")
    if clang is None or shutil.which("apt-get") is None or os.uname().machine != "x86_64":
        pytest.skip("needs clang-19 and apt-get on x86-64")
    try:
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=place, check=True, capture_output=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(f"{', '.join(PACKAGES)} cannot be fetched")
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, place], check=True)
    root = place / "usr" / "lib" / "llvm-19"
    # The linker of device code looks for it beside itself.
    (root / "bin" / "clang").symlink_to(Path(clang).resolve())
    return root


@pytest.mark.slow
def test_host_offload_of_llvm(llvm: Path, tmp_path: Path) -> None:
    flags = ["-g", "-O1", "-fopenmp", f"-fopenmp-targets={TARGET}", f"-I{llvm}/lib/clang/19/include"]
    links = [f"-L{llvm}/lib", f"-Wl,-rpath,{llvm}/lib"]
    program, source = tmp_path / "target", FIXTURES / "openmp_target.c"
    subprocess.run(["clang-19", f"-B{llvm}/bin", *flags, source, *links, "-o", program], check=True, timeout=120)
    # libomptarget looks for libomp.so in the loader's path.
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{llvm}/lib", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    words = [sys.executable, "-m", "incprof", "record", "--gpu", "-o", str(tmp_path / "run"), "--", str(program)]
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=120)
    told = {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    found = read_gpu(str(tmp_path / "run" / "rank-00000.gmon"))
    assert found is not None
    assert found.totals.launches == found.totals.kernels == found.kernels.count.sum() == told["kernels"]
    moved = {
        name: int(sum(found.copies.bytes[[COPY_NAMES[kind] == name for kind in found.copies.what.tolist()]]))
        for name in ("host to device", "device to host")
    }
    assert moved == {"host to device": told["to_device"], "device to host": told["from_device"]}
    # The program's clock goes around each region, so it shows more.
    regions_s = told["regions_ns"] * 1e-9
    assert 0 < found.kernels.seconds.sum() <= regions_s
    words = [sys.executable, "-m", "incprof", "phases", str(tmp_path / "run"), "--card", "--json"]
    answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    named = {each["name"].split(":")[0] for phase in answer["phases"] for each in phase["card"]["device"]["kernels"]}
    assert named >= {"relax", "scale"}
