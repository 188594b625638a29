"""The probes of the machine, and what `doctor` makes of them."""

import functools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incprof.cli.main import main
from incprof.record import machine


@pytest.fixture(scope="module", autouse=True)
def probed_once() -> Iterator[None]:
    """What needs other programs is probed once for all tests here, with each set of arguments."""
    with pytest.MonkeyPatch.context() as patch:
        rate, versions = functools.cache(machine.highest_timer_rate), functools.cache(machine.tool_versions)
        patch.setattr(machine, "highest_timer_rate", rate)
        patch.setattr(machine, "tool_versions", lambda names: dict(versions(tuple(names))))
        yield


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {finding["name"]: finding["state"] for finding in json.loads(capsys.readouterr().out)["findings"]}


def test_this_machine_can_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith("recording works\n")
    assert "libincprof.so" in shown
    assert "libappekg.so" in shown


def test_json_is_pure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema"], answer["usable"]) == ("incprof.doctor/1", True)
    assert {"library", "heartbeats", "glibc", "cpu clock", "perf clock", "versions"} <= {
        f["name"] for f in answer["findings"]
    }


def test_a_missing_library_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("INCPROF_LIB", "/nowhere/libincprof.so")
    assert main(["doctor", "--json"]) == 1
    assert states(capsys)["library"] == "fail"


def test_a_library_that_does_not_load_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "libincprof.so"
    broken.write_bytes(b"\x7fELF, but not really")
    monkeypatch.setenv("INCPROF_LIB", str(broken))
    assert main(["doctor"]) == 1
    assert "cannot be preloaded" in capsys.readouterr().out.splitlines()[-1]


def test_heartbeats_cost_a_feature_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "libappekg.so"
    monkeypatch.setenv("APPEKG_LIB", str(broken))
    for text in ("no such file", "invalid ELF header"):
        assert main(["doctor"]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if "heartbeats" in line)
        assert line.startswith("-     heartbeats ")
        assert text in line
        broken.write_bytes(b"\x7fNOT" + bytes(1000))


def test_a_missing_feature_does_not_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machine, "perf_error", lambda: "Permission denied")
    monkeypatch.setattr(machine, "tool_versions", lambda names: {})
    monkeypatch.setattr(machine, "is_writable", lambda directory: False)
    assert main(["doctor", "--json"]) == 0
    found = states(capsys)
    assert {found[name] for name in ("perf clock", "compiler", "gprof", "MPI", "directory")} == {"lacking"}


def python_line(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["doctor", *words]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line[6:].startswith("python "))


def test_which_functions_of_python_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = os.path.realpath(sys.executable)
    line = python_line(capsys, here)
    assert line.startswith("ok ")
    assert f"{here}: Python 3.{sys.version_info.minor}: functions are recorded" in line
    script = tmp_path / "python3"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    for program, why in (
        (str(script), "a script that"),
        ("/bin/true", "functions of C only"),
        ("nowhere", "not found"),
    ):
        line = python_line(capsys, program)
        assert line.startswith("- ")
        assert why in line


def test_another_c_library_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machine, "glibc_version", lambda: None)
    assert main(["doctor", "--json"]) == 1
    assert states(capsys)["glibc"] == "fail"


def test_commands_that_fail_have_no_output() -> None:
    assert machine.output(["false"]) is None
    assert machine.output(["/nowhere/tool"]) is None
    assert machine.first_line(machine.output(["echo", "one"])) == "one"


def test_tools_that_are_not_there_are_left_out() -> None:
    assert list(machine.tool_versions(["ls", "no-such-tool"])) == ["ls"]


def test_the_timer_probe_counts_signals() -> None:
    rate = machine.highest_timer_rate()
    assert rate is not None
    assert rate > 0


@pytest.mark.parametrize(
    ("release", "state"), [("4.18.0-553.el8", "lacking"), ("5.9.0", "ok"), ("6.1.0-13", "ok"), ("?", "lacking")]
)
def test_kernels_whose_timers_interrupt_waits_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], release: str, state: str
) -> None:
    monkeypatch.setattr(machine.os, "uname", lambda: os.uname_result(("Linux", "node", release, "", "x86_64")))
    monkeypatch.setattr(machine, "highest_timer_rate", lambda: 250.0)
    assert main(["doctor", "--json"]) == 0
    assert states(capsys)["cpu clock"] == state
