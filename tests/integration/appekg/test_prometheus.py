"""EKG_SINK=prometheus: the file for node_exporter, and what Prometheus makes of it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

import appekg
from tests.integration.appekg_sinks import finish, host, poll, running, samples, wait_until_it_stays
from tests.integration.appekg_use import environment

ONE = 'assemble "A\\B"\nC'


def number(text: str | None, metric: str, key: str = "") -> int | None:
    """The value of a metric in a file, if both are there."""
    found = samples(text).get((metric, key)) if text else None
    return int(found[0]) if found else None


def exposition(directory: Path, pid: int, app: str = "sink_host") -> str | None:
    """The file of a process, if it is there."""
    path = directory / f"appekg-{app}-{pid}.prom"
    return path.read_text() if path.is_file() else None


def outcome(command: list[object], cwd: Path, *, limit: int | None = None, **variables: object) -> tuple[int, str, str]:
    """Status, stdout and stderr. `limit`: of the size of files, in bytes."""
    sizes = (limit if limit is not None else resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, sizes),
    )
    return done.returncode, done.stdout, done.stderr


def test_counters_are_those_of_the_file_sink_summed_over_threads(tmp_path: Path) -> None:
    (tmp_path / "prom").mkdir()
    variables = {"EKG_SINK": "file,prometheus", "EKG_PROMETHEUS_DIR": "prom", "EKG_DIR": "run", "EKG_INTERVAL": 0.05}
    with running([host(), 3, "stay"], tmp_path, **variables) as process:
        wait_until_it_stays(process)

        def settled() -> str | None:
            text = exposition(tmp_path / "prom", process.pid)
            opened = samples(text).get(("appekg_open_beats", "4")) if text else None
            return text if opened and opened[0] == "1" else None

        text = poll(settled, "the beat that stays open")
        assert finish(process) == (7, "", "")
    found = samples(text)
    assert [found["appekg_beats_total", key][0] for key in "1234"] == ["600", "6", "0", "0"]
    assert [found["appekg_pulses_total", key][0] for key in "1234"] == ["0", "0", "6", "0"]
    rows = appekg.read(tmp_path / "run").rows
    for number in (1, 2):
        seconds = Decimal(int(rows["sum_ns"][rows["id"] == number].sum())) / 10**9
        assert Decimal(found["appekg_beat_seconds_total", str(number)][0]) == seconds
        assert Decimal(found["appekg_busy_seconds_total", str(number)][0]) == seconds
    # The open beat: no beat yet, but time, the same by both metrics.
    assert Decimal(found["appekg_open_seconds", "4"][0]) == Decimal(found["appekg_busy_seconds_total", "4"][0]) > 0
    labels = found["appekg_beats_total", "1"][1]
    assert labels == {"app": "sink_host", "rank": "0", "pid": str(process.pid), "id": "1", "name": ONE}
    assert found["appekg_beats_total", "2"][1]["name"] == "solve?"
    assert "name" not in found["appekg_beats_total", "3"][1]
    assert found["appekg_write_failures_total", ""][0] == "0"


def test_the_last_interval_alone_is_in_the_gauges(tmp_path: Path) -> None:
    variables = {"EKG_SINK": "file,prometheus", "EKG_PROMETHEUS_DIR": tmp_path, "EKG_DIR": "run", "EKG_INTERVAL": 0.25}
    with running([host(), 10_000], tmp_path, **variables) as process:

        def second() -> str | None:
            text = exposition(tmp_path, process.pid)
            has_beats = (number(text, "appekg_interval_beats", "2") or 0) > 0
            return text if has_beats and (number(text, "appekg_intervals_total") or 0) >= 2 else None

        found = samples(poll(second, "an interval with beats that is not the first"))
    interval = int(found["appekg_intervals_total", ""][0]) - 1
    rows = appekg.read(tmp_path / "run").rows
    chosen = rows[(rows["id"] == 2) & (rows["interval"] == interval)]
    ended = chosen[chosen["count"] > 0]
    assert int(found["appekg_interval_beats", "2"][0]) == chosen["count"].sum() > 0
    assert int(Decimal(found["appekg_beat_min_seconds", "2"][0]) * 10**9) == ended["min_ns"].min()
    assert int(Decimal(found["appekg_beat_max_seconds", "2"][0]) * 10**9) == ended["max_ns"].max()
    mean_ns = Decimal(found["appekg_beat_mean_seconds", "2"][0]) * 10**9
    assert abs(mean_ns - Decimal(int(ended["sum_ns"].sum())) / Decimal(int(ended["count"].sum()))) <= Decimal("0.5")
    assert int(found["appekg_open_beats", "2"][0]) == chosen["open"].sum()
    assert int(Decimal(found["appekg_open_seconds", "2"][0]) * 10**9) == chosen["open_ns"].max()


def test_promtool_accepts_the_file(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    with running(
        [host(), 1, "stay"], tmp_path, EKG_SINK="prometheus", EKG_PROMETHEUS_DIR=tmp_path, EKG_INTERVAL=0.1
    ) as p:
        text = poll(lambda: exposition(tmp_path, p.pid), "the file")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_user_may_read_it_and_the_umask_applies_to_the_file_sink(tmp_path: Path) -> None:
    place = tmp_path / "prom"
    place.mkdir()
    command = ["sh", "-c", f'umask 077; exec "{host()}" 1 stay']
    variables = {"EKG_SINK": "file,prometheus", "EKG_PROMETHEUS_DIR": place, "EKG_DIR": "run", "EKG_INTERVAL": 0.05}
    with running(command, tmp_path, **variables) as process:
        poll(lambda: exposition(place, process.pid), "the file")
        (file,) = place.glob("*.prom")
        assert file.stat().st_mode & 0o777 == 0o644
        assert (tmp_path / "run/rank-00000.ekg").stat().st_mode & 0o777 == 0o600
        assert finish(process)[0] == 7
    assert list(place.iterdir()) == []


def test_a_killed_program_leaves_its_file(tmp_path: Path) -> None:
    with running(
        [host(), 10_000], tmp_path, EKG_SINK="prometheus", EKG_PROMETHEUS_DIR=tmp_path, EKG_INTERVAL=0.05
    ) as p:
        poll(lambda: number(exposition(tmp_path, p.pid), "appekg_beats_total", "1"), "a beat")
        p.kill()
        p.wait()
        text = exposition(tmp_path, p.pid)
    assert text is not None
    assert ("appekg_beats_total", "1") in samples(text)


@pytest.mark.parametrize("place", ["missing", "file"])
def test_no_directory_costs_one_line_and_the_file_sink_is_used(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("not a directory")
    variables = {"EKG_SINK": "prometheus", "EKG_PROMETHEUS_DIR": place, "EKG_DIR": "run", "EKG_INTERVAL": 0.05}
    status, stdout, stderr = outcome([host(), 2], tmp_path, **variables)
    assert (status, stdout) == (7, "begins\n")
    assert stderr.startswith("appekg: cannot write for Prometheus, heartbeats go to the file instead: " + str(tmp_path))
    assert stderr.count("\n") == 1
    rows = appekg.read(tmp_path / "run").rows
    assert rows["count"][rows["id"] == 1].sum() == 400


def test_a_full_disk_costs_one_line_and_nothing_is_left(tmp_path: Path) -> None:
    variables = {"EKG_SINK": "prometheus", "EKG_PROMETHEUS_DIR": tmp_path / "prom", "EKG_INTERVAL": 0.02}
    (tmp_path / "prom").mkdir()
    status, _, stderr = outcome([host(), 2], tmp_path, limit=100, **variables)
    assert status == 7
    assert stderr.count("\n") == 1
    assert "trying again every interval" in stderr
    assert list((tmp_path / "prom").iterdir()) == []


def test_a_disk_that_is_full_for_a_while_keeps_the_old_file_and_is_counted(tmp_path: Path) -> None:
    variables = {"EKG_SINK": "prometheus", "EKG_PROMETHEUS_DIR": tmp_path, "EKG_DIR": "run", "EKG_INTERVAL": 0.05}
    with running([host(), 1, "stay"], tmp_path, **variables) as process:

        def whole() -> bool | None:
            return True if number(exposition(tmp_path, process.pid), "appekg_beats_total", "1") == 200 else None

        poll(whole, "all beats")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        # No message before a write has failed.
        assert process.stderr is not None
        said = os.read(process.stderr.fileno(), 4096).decode()
        assert whole()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        def counted() -> str | None:
            text = exposition(tmp_path, process.pid)
            return text if text and samples(text)["appekg_write_failures_total", ""][0] != "0" else None

        assert samples(poll(counted, "the count of failures"))["appekg_beats_total", "1"][0] == "200"
        status, _, stderr = finish(process)
    assert status == 7
    assert (said.count("\n"), stderr) == (1, "")


def test_ids_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    variables = {
        "EKG_SINK": "prometheus",
        "EKG_PROMETHEUS_DIR": tmp_path,
        "EKG_PROMETHEUS_IDS": 2,
        "EKG_INTERVAL": 0.05,
    }
    with running([host(), 10_000], tmp_path, **variables) as process:

        def some_are_left_out() -> str | None:
            text = exposition(tmp_path, process.pid)
            return text if text and samples(text)["appekg_left_out", ""][0] != "0" else None

        found = samples(poll(some_are_left_out, "a third id"))
    assert len([key for key in found if key[0] == "appekg_beats_total"]) == 2


def test_a_forked_child_starts_at_zero_and_leaves_its_parents_file(tmp_path: Path) -> None:
    variables = {"EKG_SINK": "prometheus", "EKG_PROMETHEUS_DIR": tmp_path, "EKG_DIR": "run", "EKG_INTERVAL": 0.05}
    with running([host(), 2, "family"], tmp_path, **variables) as process:
        mine = tmp_path / f"appekg-sink_host-{process.pid}.prom"

        def both() -> list[int] | None:
            beats = [number(path.read_text(), "appekg_beats_total", "1") or 0 for path in tmp_path.glob("*.prom")]
            return beats if len(beats) == 2 and sum(beats) >= 600 else None

        beats = poll(both, "all beats of the child")
        assert sorted(beats) == [200, 400]
        assert number(mine.read_text(), "appekg_beats_total", "1") == 400
        assert finish(process)[0] == 7
    assert list(tmp_path.glob("*.prom*")) == []
