"""Recordings of Java: samples of CPU time, lost ones, and what async-profiler writes."""

import pytest

from incprof.cli.main import main
from tests.unit.imports import bring, paths, put, seconds


def frame(owner, name, kind="JIT compiled", line=7):
    return {"method": {"type": {"name": owner}, "name": name, "descriptor": "()V"}, "lineNumber": line, "type": kind}


MAIN, STEP = frame("my/W", "main"), frame("my/W", "step")


def event(kind, at_ms, frames, **more):
    """An event of a thread, with its stack, innermost frame first."""
    second, milli = divmod(at_ms, 1000)
    stack = None if frames is None else {"truncated": False, "frames": frames}
    values = {"startTime": f"2026-01-01T00:00:{second:02}.{milli:03}Z", "stackTrace": stack, **more}
    return {"type": f"jdk.{kind}", "values": values}


def cpu(at_ms, frames, failed=False):
    thread = {"osThreadId": 5, "javaThreadId": 1, "javaName": "main"}
    return event(
        "CPUTimeSample", at_ms, frames, eventThread=thread, failed=failed, samplingPeriod="PT0.01S", biased=False
    )


def java(at_ms, frames, state):
    return event("ExecutionSample", at_ms, frames, sampledThread={"osThreadId": 5, "javaName": "main"}, state=state)


def recorded(tmp_path, *events):
    return put(tmp_path / "r.json", {"recording": {"events": events}})


def test_samples_of_cpu_time(tmp_path, capsys):
    """They are preferred, and say themselves what they stand for; those that failed are lost."""
    samples = [cpu(40 * at, [STEP, MAIN] if at % 4 else [MAIN]) for at in range(40)]
    lost = [
        cpu(330, None, failed=True),
        cpu(1210, None, failed=True),
        event("CPUTimeSamplesLost", 1300, None, lostSamples=5),
    ]
    others = [java(20 * at, [frame("my/W", "other")], "STATE_RUNNABLE") for at in range(80)]
    profile = bring(tmp_path, recorded(tmp_path, *others, *samples, *lost))
    assert paths(profile) == {"W::main": 0.1, "W::main;W::step": 0.3}
    assert profile.counters.lost.tolist() == [1, 6]
    said = capsys.readouterr().err
    assert "the JVM lost 7 samples" in said
    assert "distance" not in said


def test_failed_samples_alone(tmp_path, capsys):
    assert main(["import", str(recorded(tmp_path, cpu(1, None, failed=True))), "-o", str(tmp_path / "run")]) == 4
    assert "no jdk.ExecutionSample or jdk.CPUTimeSample in it" in capsys.readouterr().err


def test_what_async_profiler_writes(tmp_path):
    """A thread that runs is in another state than the JVM's own samples say; native code is in classes of libraries."""
    own, libc = frame("libsolver.so", "dgemm", "Native"), frame("libc.so.6", "memcpy", "Native")
    stacks = {1: [STEP, MAIN], 2: [own, MAIN], 3: [frame("", "do_syscall_64", "Kernel"), libc, STEP, MAIN]}
    samples = [java(10 * at, stacks[1 + at % 3], "STATE_DEFAULT") for at in range(30)]
    waits = [java(10 * at, [MAIN], "STATE_SLEEPING") for at in range(30)]
    profile = bring(tmp_path, recorded(tmp_path, *samples, *waits))
    assert sum(seconds(profile).values()) == pytest.approx(0.3)
    assert paths(profile) == {"W::main;W::step": 0.1, "W::main;dgemm": 0.1, "W::main;W::step;memcpy": 0.1}


@pytest.mark.parametrize("period", ["PT0.02S", "PT0.020S", "PT1M", "PTS", "", None, 20, "-PT1S"])
def test_periods(period, tmp_path):
    samples = [cpu(20 * at, [MAIN]) for at in range(1, 20)]
    for each in samples:
        each["values"]["samplingPeriod"] = period
    profile = bring(tmp_path, recorded(tmp_path, *samples))
    assert profile.metadata.rate_hz == (1 if period == "PT1M" else 50)


def test_stacks_that_jfr_has_cut_off(tmp_path, capsys):
    """By default, jfr prints only the innermost frames: in many programs, those of Java's library."""
    deep = [frame("java/util/TimSort", f"step{at}") for at in range(5)]
    bring(tmp_path, recorded(tmp_path, *(cpu(20 * at, deep) for at in range(20))))
    assert "no stack has more than 5 frames: print with --stack-depth 2048" in capsys.readouterr().err


def test_a_recording_is_printed_with_whole_stacks(tmp_path, monkeypatch, capsys):
    printed = recorded(tmp_path, *(cpu(20 * at, [STEP, MAIN]) for at in range(20)))
    tool, recording = tmp_path / "bin/jfr", tmp_path / "r.jfr"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\ncase "$*" in *"--stack-depth 2048"*) exec cat {printed} ;; esac\nprintf "{{}}"\n')
    tool.chmod(0o755)
    recording.write_bytes(b"FLR\0")
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    assert paths(bring(tmp_path, recording)) == {"W::main;W::step": 0.2}
    printed.write_text('{"recording": {"events": []}}')
    assert main(["import", str(recording), "-o", str(tmp_path / "none")]) == 4
    assert f"{recording}: no jdk.ExecutionSample" in capsys.readouterr().err
