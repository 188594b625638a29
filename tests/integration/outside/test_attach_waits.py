"""What threads wait for, recorded from outside, against the programs' own clocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incprof.study.study import Study
from incprof.systems.waiting.causes import functions_to, kinds_of
from incprof.systems.waiting.read import Waits, read_waits
from incprof.systems.waiting.sections import card
from tests.integration.collector import FIXTURES, Outcome, Recording
from tests.integration.conftest import Build
from tests.integration.hosts import need
from tests.integration.outside.test_attach import TIMEOUT_S, permitted, record, start, wait_for, words
from tests.integration.preload.test_wait_mixtures import SEEDS, mixture
from tests.integration.preload.test_wait_programs import found_in, reasons_of_redis, two_longest, until
from tests.integration.preload.test_waiting import REASONS, read, script, told
from tests.integration.wait_mixtures import drawn, pooled, score

__all__ = ["mixture", "permitted", "script"]

STREAM = "rank-00000.gmon"
PORT = 31000 + os.getpid() % 1000


def started(place: Path, *command: str | Path, **env: str) -> Recording:
    """Record a program that the recorder starts, within a budget that a busy machine does not exceed."""
    env = {"INCPROF_OVERHEAD": "100", **env}
    done = record(place, "--follow", "0", "-o", "run", "--external", "--", *command, **env)
    assert done.returncode == 0, done.stderr
    return Recording(Outcome(0, done.stdout, done.stderr, 0.0), place / "run")


def attached(place: Path, *command: str | Path) -> Recording:
    """Record a program that runs already."""
    host = start(place, command)
    recorder = start(place, words("--follow", "0", "-o", "run", "-p", str(host.pid)))
    out, err = host.communicate(timeout=TIMEOUT_S)
    recorder.communicate(timeout=TIMEOUT_S)
    assert (host.returncode, recorder.returncode) == (0, 0)
    return Recording(Outcome(0, out, err, 0.0), place / "run")


def waits_of(directory: Path) -> Waits:
    waits = read_waits(str(directory / STREAM), str(directory))
    assert waits is not None
    return waits


def chains(waits: Waits) -> set[tuple[str, tuple[str, ...]]]:
    """Cause and call path of all waits."""
    kinds = kinds_of(waits)
    return {
        (reason.cause, tuple(waits.paths.functions[each].name.rpartition(":")[2] for each in functions_to(waits, node)))
        for reason, node in zip(kinds.reason, kinds.node.tolist(), strict=True)
    }


@pytest.mark.parametrize("kind", ["dynamic", pytest.param("static", marks=pytest.mark.slow)])
def test_every_wait_has_its_cause_path_and_holder(kind: str, build: Build, tmp_path: Path) -> None:
    flags = "-O0 -pthread" + " -static" * (kind == "static")
    program = build("wait_script.c", flags=flags, pg=False, output=f"script-{kind}")
    recording = started(tmp_path, program, "2", "burn:60", *(f"{each}:250" for each in REASONS))
    found, truth = read(recording), told(recording.outcome.values())
    assert len(truth) >= len(set(REASONS.values())) - 1  # a page fault needs a permission
    seconds = found.seconds()
    for reason, value in truth.items():
        assert seconds[reason] == pytest.approx(value, rel=0.15, abs=0.1), reason
    assert found.unknown_s <= 0.05 * sum(truth.values())
    paths = chains(found.waits)
    for reason in truth:
        assert any(path[:2] == ("main", "step") for cause, path in paths if cause == reason[0]), reason
    assert ("lock", ("main", "step", "wait_for")) in {(cause, path[:3]) for cause, path in paths}
    mutex = [reason == ("lock", "mutex") for reason in found.kinds.reason]
    held = [holder for wait, holder in zip(found.kinds.of_span.tolist(), found.waits.holder.tolist(), strict=True)
            if wait >= 0 and mutex[wait]]  # fmt: skip
    assert set(held) == {1}


def test_a_process_that_runs_has_its_waits_on_the_card(script: Path, tmp_path: Path) -> None:
    recording = attached(tmp_path, script, "6", "burn:60", "mutex:200")
    study = Study(recording.directory)
    part = card(study, None)
    assert part is not None
    longest = max(study.phases().present, key=lambda phase: phase.seconds).id
    value = part.values[longest]
    assert isinstance(value, dict)
    (path,) = (path for path in value["lock"]["paths"] if path["kind"] == "mutex")
    assert (path["called"], path["function"]) == ("pthread_mutex_lock", "wait_for")
    assert path["holder"]["function"] == "pause_ms"
    waits = waits_of(recording.directory)
    mine = waits.thread == 0
    covered_s = float((waits.end_s - waits.begin_s)[mine].sum())
    assert covered_s >= 0.5 * float(study.profile.end_s[-1])  # the scan of code leaves a budget for samples


def test_a_stopped_process_waits_for_nothing(script: Path, tmp_path: Path) -> None:
    host = start(tmp_path, [script, "1", "burn:50", "sleep:2500"])
    recorder = start(tmp_path, words("--follow", "0", "-i", "0.1", "-o", "run", "-p", str(host.pid)))
    wait_for(tmp_path / "run", recorder)
    before_s = time.monotonic()
    time.sleep(0.3)
    host.send_signal(signal.SIGSTOP)
    stopped_s = time.monotonic()
    time.sleep(0.9)
    host.send_signal(signal.SIGCONT)
    stood_s = time.monotonic() - stopped_s
    host.communicate(timeout=TIMEOUT_S)
    all_s = time.monotonic() - before_s
    recorder.communicate(timeout=TIMEOUT_S)
    waits = waits_of(tmp_path / "run")
    waited_s = float(waits.waited_s[waits.thread == 0].sum())
    assert waited_s <= all_s - stood_s + 0.5
    assert waited_s >= 0.5 * (all_s - stood_s)


def test_without_samples_of_waits_there_are_none(script: Path, tmp_path: Path) -> None:
    recording = started(tmp_path, script, "1", "burn:50", "sleep:200", INCPROF_WAITS="0")
    assert read_waits(str(recording.directory / STREAM), str(recording.directory)) is None


def test_a_program_that_replaces_itself_and_its_children_have_their_own(script: Path, tmp_path: Path) -> None:
    command = f"{script} 1 burn:100 pipe:300 >/dev/null; exec {script} 1 burn:100 sleep:300"
    done = record(tmp_path, "-o", "run", "--external", "--exe", str(script), "--", "sh", "-c", command)
    assert done.returncode == 0, done.stderr
    longest = []
    for stream in sorted((tmp_path / "run").glob("*.gmon")):
        seconds, _ = found_in([stream])
        longest.append(max(seconds, key=lambda each: seconds[each]))
    assert set(longest) == {("network", "pipe"), ("sleep", "")}


@pytest.mark.slow
def test_threads_of_python_have_its_functions(tmp_path: Path) -> None:
    python = os.path.realpath(sys.executable)
    recording = started(tmp_path, python, FIXTURES / "wait_threads.py")
    found = {(cause, name) for cause, path in chains(waits_of(recording.directory)) for name in path}
    assert {("sleep", "hold"), ("lock", "want"), ("lock", "take"), ("lock", "burn")} <= found


@pytest.mark.slow
@pytest.mark.parametrize("how", [started, attached])
def test_drawn_waits_have_their_causes(
    how: object, mixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    scores = []
    for seed in SEEDS:
        place = tmp_path / str(seed)
        place.mkdir()
        assert callable(how)
        scores.append(score(how(place, mixture, "10", str(seed), *drawn(seed, threads=4))))
    assert pooled(scores).attributed >= 0.95
    assert pooled(scores).right_of_all >= 0.95
    assert pooled(scores).right >= 0.94


@pytest.mark.slow
def test_a_redis_that_runs_waits_for_clients_and_for_its_file(tmp_path: Path) -> None:
    need("redis-server", "redis-cli", "redis-benchmark")
    client = ["redis-cli", "-p", str(PORT)]
    options = ["--port", str(PORT), "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", tmp_path]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(["redis-server", *options], stdout=log, stderr=log)
        until(lambda: subprocess.run([*client, "ping"], capture_output=True, check=False).stdout == b"PONG\n")
        recorder = start(tmp_path, words("-o", "run", "-p", str(server.pid)))
        wait_for(tmp_path / "run", recorder)
        load = ["redis-benchmark", "-p", str(PORT), "-t", "set", "-c", "10", "-n", "40000", "-q"]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*client, "shutdown", "nosave"], check=False)
        assert server.wait(60) == 0
        assert recorder.wait(60) == 0
    seconds, _ = found_in([tmp_path / "run" / STREAM])
    assert reasons_of_redis(tmp_path) <= two_longest(seconds)
    assert seconds["network", "epoll"] + seconds["io", "file"] >= 0.95 * sum(seconds.values())
