"""EKG_SINK=ldms against a stand-in with LDMS's symbols and signatures: what arrives, and what goes wrong with it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import appekg
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_sinks import finish, host, poll, running, standin, wait_until_it_stays
from tests.integration.appekg_use import environment

GENERATIONS = {45: "message appekg 1 444 ", 44: "stream appekg 1 444 ", 43: "ldmsd_stream appekg 1 0 "}
SUMMED = ("count", "pulses", "sum_ns", "nested_ns", "open")
# In a program that ends, what is left is sent within half a second, which on a busy machine may be too short: here,
# within ten minutes.
PATIENCE = "-DLONGEST_FLUSH_NS=600000000000u -DLONGEST_WAIT_NS=600000000000u"


@pytest.fixture(scope="session")
def patient(ekg: EkgBuilder) -> Path:
    """The same program, with a library that waits at the end until all is sent."""
    return ekg.program("sink_host.c", flags=PATIENCE, output="sink_host")


@dataclass(frozen=True)
class Published:
    """A run, and the calls of the stand-in."""

    status: int
    stdout: str
    stderr: str
    calls: list[str]
    messages: list[dict[str, Any]]
    run: Path

    def intervals(self) -> list[int]:
        return [message["interval"] for message in self.messages]

    def missing(self) -> int:
        """Return the count that the program printed at its end."""
        lines = [line for line in self.stderr.splitlines() if "LDMS did not get" in line]
        assert len(lines) <= 1
        return int(lines[0].split()[-3]) if lines else 0


def variables(place: Path, generation: int, mode: str, interval: float, sinks: str = "file,ldms") -> dict[str, object]:
    return {
        "EKG_SINK": sinks,
        "EKG_DIR": "run",
        "EKG_INTERVAL": interval,
        "EKG_LDMS_TIMEOUT": 0.2 if mode == "silence" else 30,
        "LD_LIBRARY_PATH": standin(generation),
        "STANDIN_LOG": place / "log",
        "STANDIN_MODE": mode,
    }


def published(place: Path, status: int, stdout: str, stderr: str, generation: int = 45) -> Published:
    log = place / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    prefix = GENERATIONS[generation]
    messages = [json.loads(line.removeprefix(prefix)) for line in lines if line.startswith(prefix)]
    calls = [line for line in lines if not line.startswith(prefix)]
    assert not [line for line in calls if line.startswith("misuse")]
    return Published(status, stdout, stderr, calls, messages, place / "run")


def publish(place: Path, *words: object, program: Path | None = None, generation: int = 45, **env: object) -> Published:
    done = subprocess.run(
        [str(program or host()), *map(str, words)],
        cwd=place,
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return published(place, done.returncode, done.stdout, done.stderr, generation)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_interval_arrives_with_what_the_file_holds(patient: Path, tmp_path: Path, generation: int) -> None:
    env = variables(tmp_path, generation, "", 0.1)
    found = publish(tmp_path, 5, program=patient, generation=generation, **env)
    assert (found.status, found.stdout, found.stderr) == (7, "begins\n", "")
    assert found.calls == ["connect sock localhost 412 munge", "close 1", "put 1"]
    kept = appekg.read(found.run)
    (process,) = kept.processes
    assert found.intervals() == process.intervals["interval"].tolist()
    for message, interval in zip(found.messages, process.intervals, strict=True):
        rows = kept.rows[kept.rows["interval"] == interval["interval"]]
        assert [beat["id"] for beat in message["beats"]] == np.unique(rows["id"]).tolist()
        for beat in message["beats"]:
            same_as_rows(beat, rows[rows["id"] == beat["id"]])
            assert beat["name"] == {1: 'assemble "A\\B"\nC', 2: "solve?", 3: ""}[beat["id"]]
        start = process.start_unix_s + interval["start_ns"] / 1e9
        assert message["start"] == pytest.approx(start, abs=2)
        length = (interval["end_ns"] - interval["start_ns"]) / 1e9
        assert message["end"] - message["start"] == pytest.approx(length, abs=1e-6)
        assert message["lost"] == 0
    first = found.messages[0]
    assert (first["schema"], first["version"], first["app"], first["rank"]) == ("appekg", 1, "sink_host", 0)
    assert (first["host"], first["launch"]) == (process.metadata["host"], process.metadata["launch"])
    assert first["pid"] == process.metadata["pid"]


def same_as_rows(beat: dict[str, Any], rows: np.ndarray[Any, np.dtype[np.void]]) -> None:
    """A beat of a message is the sum of its threads' rows."""
    for name in SUMMED:
        assert beat[name] == rows[name].sum(), name
    ended = rows[rows["count"] > 0]
    assert beat["min_ns"] == (ended["min_ns"].min() if len(ended) else 0)
    assert beat["max_ns"] == rows["max_ns"].max()
    assert beat["open_ns"] == rows["open_ns"].max()
    assert beat["sumsq_ns2"] == pytest.approx(float(rows["sumsq_ns2"].sum()), rel=1e-12, abs=len(rows))
    assert (beat["threads"], beat["rate_factor"]) == (len(rows), 1)


def test_settings_reach_ldms(patient: Path, tmp_path: Path) -> None:
    env = variables(tmp_path, 45, "", 0.1)
    env |= {"EKG_LDMS_XPRT": "rdma", "EKG_LDMS_HOST": "node7", "EKG_LDMS_PORT": "10444", "EKG_LDMS_AUTH": "none"}
    found = publish(tmp_path, 1, program=patient, **env, EKG_LDMS_STREAM="phases")
    assert found.calls[0] == "connect rdma node7 10444 none"
    assert found.calls[1].startswith('message phases 1 444 {"schema":"appekg"')


def test_without_ldms_there_is_one_line_and_the_file(tmp_path: Path) -> None:
    found = publish(tmp_path, 2, EKG_SINK="ldms", EKG_DIR="run", EKG_INTERVAL=0.05)
    assert (found.status, found.stdout) == (7, "begins\n")
    assert found.stderr == "appekg: libldms is not installed, heartbeats go to the file instead\n"
    rows = appekg.read(found.run).rows
    assert rows["count"][rows["id"] == 1].sum() == 400


def test_a_libldms_without_its_stream_library_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "libldms.so.0").symlink_to(standin(43) / "libldms.so.0")
    env = variables(tmp_path, 43, "", 0.05, sinks="ldms") | {"LD_LIBRARY_PATH": tmp_path}
    found = publish(tmp_path, 1, **env)
    assert found.stderr == "appekg: this version of libldms is not supported, heartbeats go to the file instead\n"
    assert appekg.read(found.run).rows["count"].sum() == 202
    assert found.calls == []


@pytest.mark.slow
@pytest.mark.parametrize("generation", [45, 43])
@pytest.mark.parametrize("mode", ["no-transport", "refuse", "silence", "error-event", "reject", "hang-connect"])
def test_a_missing_connection_does_no_harm(patient: Path, tmp_path: Path, mode: str, generation: int) -> None:
    program, env = host() if mode == "hang-connect" else patient, variables(tmp_path, generation, mode, 0.05)
    found = publish(tmp_path, 4, program=program, generation=generation, **env)
    assert (found.status, found.stdout) == (7, "begins\n")
    assert found.messages == []
    (process,) = appekg.read(found.run).processes
    assert found.missing() == len(process.intervals)
    assert process.intervals["lost_intervals"].sum() == 0
    trying = "appekg: no connection to LDMS, trying again: sock localhost:412\n"
    assert found.stderr.startswith(trying if mode != "hang-connect" else "appekg: intervals that LDMS did not get")
    assert found.stderr.count("\n") == (2 if mode != "hang-connect" else 1)


@pytest.mark.parametrize("mode", ["second-try", "quota", "disconnect"])
def test_what_goes_wrong_for_a_while_loses_nothing(patient: Path, tmp_path: Path, mode: str) -> None:
    with running([patient, 10, "stay"], tmp_path, **variables(tmp_path, 45, mode, 0.1)) as process:
        log, file = tmp_path / "log", tmp_path / "run/rank-00000.ekg"
        poll(lambda: True if log.exists() and log.read_text().count("message") > 8 else None, "nine messages")
        wait_until_it_stays(process)
        before = file.read_text().count("#interval")
        poll(lambda: True if log.read_text().count("message") >= before else None, "all messages so far")
        found = published(tmp_path, *finish(process))
    assert found.status == 7
    (read,) = appekg.read(found.run).processes
    # A program that ends does not try for long.
    assert len(found.messages) + found.missing() == len(read.intervals)
    assert found.intervals()[:before] == list(range(before))
    assert found.intervals() == sorted(found.intervals())
    assert len([call for call in found.calls if call.startswith("connect")]) >= (1 if mode == "quota" else 2)


@pytest.mark.parametrize("mode", ["hang-publish", "slow", "refuse-messages"])
def test_what_is_not_sent_is_counted(tmp_path: Path, mode: str) -> None:
    with running([host(), 1, "stay"], tmp_path, **variables(tmp_path, 45, mode, 0.02)) as process:
        wait_until_it_stays(process)
        log, file = tmp_path / "log", tmp_path / "run/rank-00000.ekg"

        def waiting() -> int:
            sent = log.read_text().count("message") if log.exists() else 0
            return file.read_text().count("#interval") - sent if file.exists() else 0

        poll(lambda: True if waiting() > 20 else None, "twenty intervals that are not sent")
        found = published(tmp_path, *finish(process))
    assert found.status == 7
    (read,) = appekg.read(found.run).processes
    assert found.missing() > 0
    assert len(found.messages) + found.missing() == len(read.intervals)


def test_the_oldest_intervals_are_dropped_and_later_messages_report_it(patient: Path, tmp_path: Path) -> None:
    with running([patient, 1, "stay"], tmp_path, **variables(tmp_path, 45, "gate", 0.01)) as process:
        wait_until_it_stays(process)
        file = tmp_path / "run/rank-00000.ekg"
        poll(lambda: True if file.read_text().count("#interval") > 150 else None, "150 intervals")
        (tmp_path / "log.gate").touch()
        poll(lambda: True if (tmp_path / "log").read_text().count("message") > 66 else None, "the messages")
        before = file.read_text().count("#interval")
        poll(lambda: True if file.read_text().count("#interval") > before + 2 else None, "another interval")
        found = published(tmp_path, *finish(process))
    (read,) = appekg.read(found.run).processes
    lost = found.messages[-1]["lost"]
    assert lost >= 80
    assert len(found.messages) + found.missing() == len(read.intervals)
    # Of what the last two have taken the place of, no message can tell.
    assert lost <= found.missing() <= lost + 2
    assert found.intervals() == sorted(found.intervals())
    assert found.intervals()[0] == 0  # was being sent all the time


@pytest.mark.parametrize("generation", [45, 43])
@pytest.mark.parametrize("mode", ["", "hang-connect", "hang-publish", "refuse"])
def test_the_process_ends_with_its_last_own_thread(patient: Path, tmp_path: Path, mode: str, generation: int) -> None:
    program, env = host() if mode else patient, variables(tmp_path, generation, mode, 0.05)
    found = publish(tmp_path, 4, "thread", program=program, generation=generation, **env)
    assert (found.status, found.stdout) == (0, "begins\n")
    kept = appekg.read(found.run)
    assert kept.rows["count"][kept.rows["id"] == 1].sum() == 400
    assert kept.processes[0].clean
    if mode == "":
        assert found.intervals() == kept.processes[0].intervals["interval"].tolist()


def test_a_forked_child_has_the_file_instead(patient: Path, tmp_path: Path) -> None:
    found = publish(tmp_path, 2, "fork", program=patient, **variables(tmp_path, 45, "", 0.05, sinks="ldms"))
    assert found.status == 7
    assert found.stderr == "appekg: a forked child has no LDMS, heartbeats go to the file instead\n"
    assert len({message["pid"] for message in found.messages}) == 1
    total = sum(beat["count"] for message in found.messages for beat in message["beats"] if beat["id"] == 1)
    assert total == 400
    rows = appekg.read(found.run).rows
    assert rows["count"][rows["id"] == 1].sum() == 200


def test_threads_that_hang_in_ldms_do_not_hold_up_setuid(tmp_path: Path) -> None:
    assert publish(tmp_path, 2, "setuid", **variables(tmp_path, 45, "hang-connect", 0.05)).status == 7


def test_a_signal_ends_the_program_while_ldms_hangs(tmp_path: Path) -> None:
    with running([host(), 1, "stay"], tmp_path, **variables(tmp_path, 45, "hang-publish", 0.02)) as process:
        wait_until_it_stays(process)
        process.terminate()
        assert process.wait(timeout=600) == -15
