"""Namespaces that the kernel refuses to processes with several threads: ours is no reason to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, calls, ended_cleanly, need, ticks, ticks_below, try_both


@pytest.fixture(scope="module", autouse=True)
def permitted() -> None:
    need("unshare")
    if subprocess.run(["unshare", "-U", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces are not permitted here")


@pytest.mark.parametrize("way", ["unshare", "syscall", "setns", "any", "threads"])
def test_a_program_that_enters_a_user_namespace(host: BuildHost, tmp_path: Path, way: str) -> None:
    """It does so as without us, and is recorded on into the same file; with threads of its own, both are refused."""
    plain = host("namespaces.c", pg=False, output="namespaces-plain")
    trial = try_both([host("namespaces.c"), way], tmp_path, reference=[plain, way])
    assert trial.recorded.stdout.startswith("-1 Invalid argument" if way == "threads" else "0 Success uid 65534")
    assert trial.files() == ["rank-00000.gmon"]
    assert ended_cleanly(trial.directory / "rank-00000.gmon")
    profile = trial.profile()
    assert calls(profile)["tick"] == 1010
    assert ticks(profile) >= 15
    assert ticks_below(profile, "afterwards") >= 3


@pytest.mark.parametrize("option", ["-U", "-Ur"])
def test_a_launcher_that_enters_a_user_namespace(host: BuildHost, tmp_path: Path, option: str) -> None:
    words = ["unshare", option, host("ends.c"), "exit", "3"]
    alone = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    done = incprof("record", "-o", tmp_path / "run", "--", *words)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout), done.stderr


def test_bubblewrap(tmp_path: Path) -> None:
    need("bwrap")
    words = ["bwrap", "--unshare-user", "--dev-bind", "/", "/", "id", "-u"]
    alone = subprocess.run(words, capture_output=True, text=True, check=False)
    done = incprof("record", "-o", tmp_path / "run", "--", *words)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout), done.stderr
