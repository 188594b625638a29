"""Programs that we stay out of, and programs that we share with other libraries and with their own controls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration.collector import variables
from tests.integration.hosts import BuildHost, calls, need, ticks, try_both


def test_recorded_program_has_one_task_more(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("simple.c")], tmp_path)
    assert trial.recorded.status == 3
    assert calls(trial.profile())["tick"] == 500


def test_plain_program_is_left_alone(host: BuildHost, tmp_path: Path) -> None:
    """Without -pg: no thread, no directory, no word."""
    trial = try_both([host("simple.c", pg=False, output="simple-plain")], tmp_path, env={"SHOW_TASKS": "1"})
    assert trial.recorded.stderr == "tasks 1\n"
    assert not trial.directory.exists()


def test_static_program_is_left_alone(host: BuildHost, tmp_path: Path) -> None:
    """The loader never sees it, and so neither do we."""
    program = host("simple.c", flags="-static", output="simple-static")
    trial = try_both([program], tmp_path)
    assert trial.recorded.status == 3
    assert not trial.directory.exists()


@pytest.mark.parametrize(
    "command", [["sh", "-c", "echo word; exit 5"], [sys.executable, "-c", "print('word'); exit(5)"]]
)
def test_interpreters_are_left_alone(tmp_path: Path, command: list[str]) -> None:
    need(command[0])
    trial = try_both(command, tmp_path)
    assert (trial.recorded.status, trial.recorded.stdout) == (5, "word\n")
    assert not trial.directory.exists()


def test_much_output_is_unchanged(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("simple.c"), "50", "10"], tmp_path)
    assert len(trial.recorded.stdout) == 10 * 1024 * 1024


def test_other_preloaded_library_works_on(host: BuildHost, tmp_path: Path) -> None:
    library = host("counting.c", flags="-shared -fPIC", pg=False, output="libcounting.so")
    both = variables(tmp_path, preload=str(library))["LD_PRELOAD"]
    program = host("controls.c")
    trial = try_both([program], tmp_path, reference=["env", f"LD_PRELOAD={library}", program], env={"LD_PRELOAD": both})
    assert trial.recorded.stdout == "counted 1\n"
    assert calls(trial.profile())["tick"] == 111


def test_moncontrol_hides_calls_and_samples(host: BuildHost, tmp_path: Path) -> None:
    """And a second monstartup changes nothing."""
    profile = try_both([host("controls.c")], tmp_path).profile()
    assert calls(profile)["tick"] == 111
    assert "hidden" not in calls(profile)
    named = {f.mangled for f in profile.functions}
    assert "hidden" not in named or ticks(profile) <= 45
    assert 15 <= ticks(profile) <= 45


def test_library_loaded_later(host: BuildHost, tmp_path: Path) -> None:
    library = host("latelib.c", flags="-shared -fPIC", output="liblate.so")
    trial = try_both([host("late.c"), library], tmp_path, interval=0.05)
    profile = trial.profile()
    assert trial.recorded.stdout == "loaded\n"
    assert calls(profile)["late"] == 20
    seconds = dict(zip(((f.module, f.mangled) for f in profile.functions), profile.self_s.sum(axis=0), strict=True))
    assert sum(s for (module, _), s in seconds.items() if "liblate" in module) > 0.1


def test_a_library_is_noticed_by_a_function_that_calls_nothing(host: BuildHost, tmp_path: Path) -> None:
    """Its caller is found on the stack, even before its code has been looked up."""
    library = host("latelib.c", flags="-shared -fPIC -DLEAF", pg=False, output="libleaf.so")
    trial = try_both([host("late.c"), library, "400"], tmp_path, interval=0.05)
    profile = trial.profile()
    met = [profile.functions[f] for f in profile.paths.function[profile.samples.node].tolist() if f >= 0]
    assert sum(function.module == library.name for function in met) >= 3


def test_output_through_a_pipe_is_unchanged(host: BuildHost, tmp_path: Path) -> None:
    program = host("simple.c")
    done = subprocess.run(
        [program, "50", "4"], env=variables(tmp_path / "run", interval=0.01), capture_output=True, check=False
    )
    assert (done.returncode, len(done.stdout), done.stderr) == (3, 4 * 1024 * 1024, b"")
    assert calls(read_profile(open_run(tmp_path / "run")))["tick"] == 500
