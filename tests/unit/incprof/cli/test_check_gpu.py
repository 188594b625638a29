"""What `check`, `doctor` and `record` report about GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.record import launch
from incprof.record.launch import (
    GPU_LIBRARY,
    HIP_LIBRARY,
    INJECTION,
    LAYERS,
    OPENCL_LIBRARY,
    ROCPROFILER,
    TOOLS,
    find_rocprofiler,
    layers_value,
    recording_variables,
)
from incprof.study import readiness

MAIN = "int main(void) { return 0; }"
STATIC = "void cudaLaunchKernel(void) {} int main(void) { cudaLaunchKernel(); return 0; }"


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", str(folder / f"{name}.c"), "-o", str(folder / name), *flags], check=True)
    return folder / name


@pytest.mark.parametrize(
    ("library", "source", "expected"),
    [
        ("libcudart.so.12", MAIN, "shared"),
        ("libcuda.so.1", MAIN, "driver"),
        ("", STATIC, "static"),
        ("", MAIN, None),
        ("libcudaware.so", MAIN, None),
        ("libamdhip64.so.6", MAIN, "hip"),
        ("libOpenCL.so.1", MAIN, "opencl"),
        ("libze_loader.so.1", MAIN, "level_zero"),
        ("libomptarget.so.19.1", MAIN, "openmp"),
    ],
)
def test_check_reports_how_a_program_reaches_gpus(
    tmp_path: Path, library: str, source: str, expected: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"-Wl,--no-as-needed,-rpath,{tmp_path}"]
    if library:
        flags.append(str(compiled(tmp_path, library, "int f;", "-shared", f"-Wl,-soname,{library}")))
    program = compiled(tmp_path, "program", source, *flags)
    main(["check", "--json", str(program)])
    assert json.loads(capsys.readouterr().out)["gpu"] == expected
    main(["check", str(program)])
    assert ("record --gpu" in capsys.readouterr().out) == (expected is not None)


def test_the_injection_variable_is_set_and_a_users_own_kept() -> None:
    assert recording_variables({"gpu": "1"}, {})[INJECTION].endswith(GPU_LIBRARY)
    assert INJECTION not in recording_variables({"gpu": "1"}, {INJECTION: "/opt/nsight/injection.so"})
    assert INJECTION not in recording_variables({}, {})


@pytest.mark.parametrize(("injected", "lines"), [("/opt/other.so", 1), (f"/usr/lib/{GPU_LIBRARY}", 0)])
def test_record_reports_an_injection_of_the_users_in_one_line(tmp_path: Path, injected: str, lines: int) -> None:
    words = [sys.executable, "-m", "incprof", "record", "--gpu", "-o", str(tmp_path / "run"), "--", "/bin/sh", "-c"]
    words.append("echo $CUDA_INJECTION64_PATH")
    environment = {**os.environ, INJECTION: injected}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert done.stdout.strip() == injected
    assert done.stderr.count("nothing of CUDA is recorded") == lines
    # Of the ranks of a launcher, each started by an incprof of its own, the first one reports it.
    environment["OMPI_COMM_WORLD_RANK"] = "1"
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert "CUDA" not in done.stderr


def test_doctor_reports_the_device_and_what_hinders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(INJECTION, raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/dev/nvidiactl")
    assert readiness._gpus().state == "ok"
    monkeypatch.setenv(INJECTION, "/opt/other.so")
    assert "/opt/other.so" in readiness._gpus().text
    monkeypatch.delenv(INJECTION)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    assert readiness._gpus().state == "lacking"


def test_the_layer_is_appended_to_the_users_and_only_with_gpu() -> None:
    assert recording_variables({"gpu": "1"}, {})[LAYERS].endswith(OPENCL_LIBRARY)
    assert LAYERS not in recording_variables({}, {LAYERS: "/opt/theirs.so"})
    both = recording_variables({"gpu": "1"}, {LAYERS: "/opt/theirs.so"})[LAYERS].split(":")
    assert both[0] == "/opt/theirs.so"
    assert both[1].endswith(OPENCL_LIBRARY)
    again = recording_variables({"gpu": "1"}, {LAYERS: ":".join(both)})[LAYERS]
    assert again.split(":") == both
    assert layers_value(Path("/odd:place/lib.so"), "/opt/theirs.so") == "/opt/theirs.so"


@pytest.mark.parametrize(("text", "state"), [(b"\x7fELF .. OPENCL_LAYERS ..", "ok"), (b"\x7fELF", "lacking")])
def test_doctor_reports_whether_opencls_loader_has_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, state: str
) -> None:
    (tmp_path / "libOpenCL.so.1").write_bytes(text)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found = readiness._opencl()
    assert found.state == state
    assert str(tmp_path) in found.text
    monkeypatch.setattr(readiness, "OPENCL_LOADER", "libOpenCL-missing.so.9")
    assert readiness._opencl().state == "lacking"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a cache of the loader that is not there yet."""
    monkeypatch.setattr(launch, "LOADER_CACHE", str(tmp_path / "ld.so.cache"))
    return tmp_path / "ld.so.cache"


def test_rocprofiler_is_found_where_the_loader_finds_it(tmp_path: Path, cache: Path) -> None:
    (tmp_path / ROCPROFILER).touch()
    search = {"LD_LIBRARY_PATH": f"/nonexistent::{tmp_path}"}
    assert find_rocprofiler(search) == str(tmp_path / ROCPROFILER)
    assert find_rocprofiler({}) is None
    names = [tmp_path / "libother.so", tmp_path / f"{ROCPROFILER}.1", tmp_path / ROCPROFILER, tmp_path / "libz.so"]
    cache.write_bytes(b"".join(f"\0{name}\0".encode() for name in names))
    assert find_rocprofiler({}) == str(tmp_path / ROCPROFILER)
    cache.write_bytes(b"\0/nonexistent/" + ROCPROFILER.encode() + b"\0")
    assert find_rocprofiler({}) is None
    cache.write_bytes(f"\0{names[1]}\0".encode())
    assert find_rocprofiler({}) is None


def test_the_tool_is_named_only_where_rocprofiler_is_and_after_the_users(tmp_path: Path, cache: Path) -> None:
    assert not cache.exists()
    assert TOOLS not in recording_variables({"gpu": "1"}, {})
    (tmp_path / ROCPROFILER).touch()
    search = {"LD_LIBRARY_PATH": str(tmp_path)}
    assert TOOLS not in recording_variables({}, search)
    alone = recording_variables({"gpu": "1"}, search)[TOOLS]
    assert alone.endswith(HIP_LIBRARY)
    both = recording_variables({"gpu": "1"}, {TOOLS: "/opt/theirs.so"})[TOOLS]
    # rocprofiler-sdk drops the last of several that no colon follows.
    assert both == f"/opt/theirs.so:{alone}:"
    assert recording_variables({"gpu": "1"}, {TOOLS: both})[TOOLS] == both
    assert recording_variables({"gpu": "1"}, {TOOLS: alone})[TOOLS] == alone


def test_doctor_reports_whether_hip_programs_can_be_recorded(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not cache.exists()
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    assert readiness._rocm().state == "lacking"
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/dev/kfd")
    assert "LD_LIBRARY_PATH" in readiness._rocm().text
    (tmp_path / ROCPROFILER).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    found = readiness._rocm()
    assert found.state == "ok"
    assert str(tmp_path / ROCPROFILER) in found.text
