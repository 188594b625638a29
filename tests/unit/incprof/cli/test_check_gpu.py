"""What `check`, `doctor` and `record` report about GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.record.launch import (
    GPU_LIBRARY,
    INJECTION,
    LAYERS,
    OPENCL_LIBRARY,
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
        ("libOpenCL.so.1", MAIN, "opencl"),
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
    assert done.stderr.count("GPU activity is not recorded") == lines


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
