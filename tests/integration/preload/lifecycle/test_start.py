"""Before main: what runs while the program is being put together, other tools in front of libc, and little memory."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from tests.integration.collector import clean_environment, variables
from tests.integration.hosts import BuildHost, calls, ticks, try_both
from tests.paths import INTEGRATION


@pytest.mark.parametrize("env", [{}, {"INCPROF_DISABLE": "1"}], ids=["recorded", "disabled"])
@pytest.mark.parametrize("flags", ["", "-mfentry -fno-pie -no-pie", "-Wl,-z,now"], ids=["mcount", "fentry", "now"])
def test_resolvers_run_before_anything_is_set_up(
    host: BuildHost, tmp_path: Path, flags: str, env: dict[str, str]
) -> None:
    program = host("early.c", flags=flags, output=f"early{flags}".replace(" ", ""))
    trial = try_both([program], tmp_path, env=env)
    assert trial.recorded.stdout == "5 4950\n"
    if not env:
        assert calls(trial.profile())["tick"] == 77


def test_versions_of_a_cpp_function(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("early.cpp", compiler="g++", output="early-cpp")], tmp_path)
    assert trial.recorded.stdout == "2\n"


@pytest.mark.parametrize("pg", [True, False], ids=["recorded", "not"])
def test_a_tool_that_is_preloaded_behind_us_sees_what_it_sees_alone(host: BuildHost, tmp_path: Path, pg: bool) -> None:
    tool = tmp_path / "watch.so"
    source = INTEGRATION / "lifecycle_fixtures" / "watch.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", source, "-o", tool, "-ldl"], check=True)
    program = host("watched.c", pg=pg, output=f"watched-{pg}")
    for place in ("alone", "recorded"):
        (tmp_path / place).mkdir()
    run = tmp_path / "recorded" / "run"
    ours = variables(run)
    seen = [
        subprocess.run(
            [program],
            cwd=tmp_path / place,
            env={**clean_environment(), **env},
            capture_output=True,
            text=True,
            check=False,
        )
        for place, env in (
            ("alone", {"LD_PRELOAD": str(tool)}),
            ("recorded", {**ours, "LD_PRELOAD": f"{ours['LD_PRELOAD']} {tool}"}),
        )
    ]
    assert seen[0].stderr == "watch: sigaction\nwatch: _exit\n"
    assert [each.stderr for each in seen] == [seen[0].stderr] * 2
    assert [each.returncode for each in seen] == [3, 3]
    assert run.exists() == pg


@pytest.mark.slow
def test_a_key_of_the_application_is_its_own_with_however_little_memory(host: BuildHost, tmp_path: Path) -> None:
    """From too little for the program itself up to enough for all of ours, in steps smaller than any piece of it."""
    program = host("keys.c")
    env = {**clean_environment(), **variables(tmp_path / "run", interval=60), "INCPROF_LOG": "quiet"}
    said = set()
    for kilobytes in range(10_000, 16_000, 60):

        def limit(bytes_: int = kilobytes * 1024) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

        done = subprocess.run([program], env=env, capture_output=True, text=True, check=False, preexec_fn=limit)
        assert done.returncode in {0, 2, 127}, (kilobytes, done)
        said.add(done.stdout)
    assert said == {"", "in a new thread 1\n"}


def test_few_samples_are_lost_to_the_start(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("early.c", output="early-again")], tmp_path)
    # Of twenty, on a machine that may be busy with others.
    assert ticks(trial.profile()) >= 8
