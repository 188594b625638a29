"""What the variables do, and what a bad value costs: one line, and its default."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration.hosts import BuildHost, collector_lines, raw_images, record_only, streams

SLURM = {"SLURM_JOB_ID": "812", "SLURM_STEP_ID": "3", "SLURM_NTASKS": "6", "SLURM_STEP_NUM_TASKS": "4"}


def metadata(directory: Path, name: str = "rank-00000.gmon") -> dict[str, Any]:
    """The metadata as it was written."""
    data = (directory / name).read_bytes()
    first = raw_images(data)[0]
    found: dict[str, Any] = json.loads(data[first.start + 20 : first.end])
    return found


def test_metadata_of_a_run(host: BuildHost, tmp_path: Path) -> None:
    env = {"INCPROF_DIR": "run", "INCPROF_INTERVAL": "0.02", "INCPROF_RATE": "200", "INTERVALS": "2"}
    assert record_only([host("simple.c"), "60"], tmp_path, **env).status == 3
    found = metadata(tmp_path / "run")
    assert (found["interval_s"], found["rate_hz"], found["clock"]) == (0.02, 200, "cpu")
    assert (found["rank"], found["ranks"], found["forked"]) == (0, 1, False)
    assert found["argv"] == [str(host("simple.c")), "60"]
    assert (found["exe"], found["cwd"], found["app"]) == (str(host("simple.c")), str(tmp_path), "simple")
    assert found["launch"] == (tmp_path / "run/launch").read_text().rstrip("\n")
    assert read_profile(open_run(tmp_path / "run")).n_intervals >= 2


def test_values_with_units(host: BuildHost, tmp_path: Path) -> None:
    env = {"INCPROF_DIR": "run", "INCPROF_INTERVAL": "50ms", "INCPROF_RATE": "0.2kHz"}
    assert record_only([host("simple.c"), "20"], tmp_path, **env).status == 3
    found = metadata(tmp_path / "run")
    assert (found["interval_s"], found["rate_hz"]) == (0.05, 200)


@pytest.mark.parametrize(
    ("name", "value", "key", "default"),
    [
        ("INCPROF_INTERVAL", "soon", "interval_s", 1),
        ("INCPROF_INTERVAL", "0", "interval_s", 1),
        ("INCPROF_INTERVAL", "-1", "interval_s", 1),
        ("INCPROF_INTERVAL", "1e3", "interval_s", 1),
        ("INCPROF_INTERVAL", "5x", "interval_s", 1),
        ("INCPROF_INTERVAL", "ms", "interval_s", 1),
        ("INCPROF_INTERVAL", "10us", "interval_s", 1),
        ("INCPROF_INTERVAL", "999999999999d", "interval_s", 1),
        ("INCPROF_INTERVAL", "99999999999999999999", "interval_s", 1),
        ("INCPROF_RATE", "fast", "rate_hz", 250),
        ("INCPROF_RATE", "0", "rate_hz", 250),
        ("INCPROF_RATE", "1000000", "rate_hz", 250),
        ("INCPROF_RATE", "1MHz", "rate_hz", 250),
        ("INCPROF_RATE", "20kHz", "rate_hz", 250),
        ("INCPROF_OVERHEAD", "none", "rate_hz", 250),
        ("INCPROF_OVERHEAD", "101", "rate_hz", 250),
        ("INCPROF_CLOCK", "sundial", "clock", "cpu"),
        ("INCPROF_FORMAT", "xml", "format", "incprof-stream"),
        ("INCPROF_RANK", "first", "rank", 0),
        ("INCPROF_RANK", "-2", "rank", 0),
        ("INCPROF_RANK", "99999999999999999999", "rank", 0),
        ("INCPROF_RANKS", "all", "rank", 0),
        ("INCPROF_RANKS", "0,", "rank", 0),
        ("INCPROF_RANKS", "3-1", "rank", 0),
        ("INCPROF_RANKS", "every:0", "rank", 0),
        ("INCPROF_RANKS", "per-node:1-2", "rank", 0),
        ("INCPROF_FOLLOW", "perhaps", "forked", False),
        ("INCPROF_DISABLE", "perhaps", "rank", 0),
        ("INCPROF_LIBS", "some", "rank", 0),
        ("INCPROF_WAITS", "often", "rank", 0),
        ("INCPROF_WAITS", "1001", "rank", 0),
        ("INCPROF_LOG", "loud", "rank", 0),
    ],
)
def test_bad_value(host: BuildHost, tmp_path: Path, name: str, value: str, key: str, default: object) -> None:
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", **{name: value})
    assert outcome.status == 3
    (line,) = collector_lines(outcome)
    assert line.startswith(f"incprof: {name}={value} ")
    assert "using" in line
    assert metadata(tmp_path / "run")[key] == default


@pytest.mark.parametrize(
    ("value", "interval"), [("250ms", 0.25), ("100000us", 0.1), ("2m", 120), ("1d", 86400), ("3s", 3)]
)
def test_an_interval_with_a_unit(host: BuildHost, tmp_path: Path, value: str, interval: float) -> None:
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", INCPROF_INTERVAL=value)
    assert (outcome.status, outcome.stderr) == (3, "")
    assert metadata(tmp_path / "run")["interval_s"] == interval


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\x1b[31m\x1b]0;title\x07", "?[31m?]0;title?"),
        (b"a\rb\nc\td\x7f", "a?b?c?d?"),
        ("gr\u00fc\u00dfe \u65e5\u672c \U0001f600".encode(), "gr\u00fc\u00dfe \u65e5\u672c \U0001f600"),
        ("\u009b2J\u202etxt\u2066\u200f\u061c\ufeff\U000e0041".encode(), "?2J?txt?????"),
        (b"\xe9\xff\xc3", "???"),
        (b"\xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80", 12 * "?"),
        (b"x" * 99 + "\u65e5".encode(), "x" * 99 + "?"),
    ],
)
def test_a_bad_value_does_nothing_to_a_terminal(host: BuildHost, tmp_path: Path, value: bytes, shown: str) -> None:
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", INCPROF_CLOCK=os.fsdecode(value))
    line = f"incprof: INCPROF_CLOCK={shown} is not valid, using cpu"
    assert (outcome.status, outcome.stderr.splitlines()) == (3, [line])


def test_a_path_does_nothing_to_a_terminal(host: BuildHost, tmp_path: Path) -> None:
    """In a message about a directory that cannot be made, which is cut where the line has no room."""
    place = "/proc/\x1b[2J\u202e" + "\u00e9" * 100
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR=place)
    (line,) = collector_lines(outcome)
    assert (outcome.status, "/proc/?[2J?\u00e9" in line) == (3, True)
    assert line.isprintable()


@pytest.mark.parametrize(
    "name", ["INTERVAL", "RATE", "CLOCK", "FORMAT", "RANKS", "EXE", "FOLLOW", "LIBS", "LOG", "RANK"]
)
def test_empty_value_is_none(host: BuildHost, tmp_path: Path, name: str) -> None:
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", **{f"INCPROF_{name}": ""})
    assert (outcome.status, outcome.stderr) == (3, "")
    assert streams(tmp_path / "run") == ["rank-00000.gmon"]


@pytest.mark.parametrize("value", ["1", "yes", "on", "true"])
def test_disabled(host: BuildHost, tmp_path: Path, value: str) -> None:
    env = {"INCPROF_DIR": "run", "INCPROF_DISABLE": value, "SHOW_TASKS": "1"}
    outcome = record_only([host("simple.c"), "20"], tmp_path, **env)
    assert (outcome.status, outcome.stderr) == (3, "tasks 1\n")
    assert not (tmp_path / "run").exists()


def test_quiet_prints_nothing_and_debug_more(host: BuildHost, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for level, most in (("quiet", 0), ("warn", 1)):
        outcome = record_only([host("simple.c")], tmp_path, INCPROF_DIR="file", INCPROF_LOG=level)
        assert (outcome.status, len(collector_lines(outcome))) == (3, most)
    outcome = record_only([host("simple.c")], tmp_path, INCPROF_DIR="run", INCPROF_LOG="debug")
    assert outcome.status == 3
    assert any(str(tmp_path / "run") in line for line in collector_lines(outcome))


@pytest.mark.parametrize(("glob", "wanted"), [("simple", True), ("sim*", True), ("*/simple", True), ("other", False)])
def test_only_programs_that_match(host: BuildHost, tmp_path: Path, glob: str, wanted: bool) -> None:
    outcome = record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", INCPROF_EXE=glob)
    assert (outcome.status, outcome.stderr) == (3, "")
    assert (tmp_path / "run").exists() is wanted


@pytest.mark.parametrize(("ranks", "wanted"), [("2", True), ("0,2-3", True), ("0-1", False), ("3", False)])
def test_only_ranks_that_are_listed(host: BuildHost, tmp_path: Path, ranks: str, wanted: bool) -> None:
    env = {"INCPROF_DIR": "run", "INCPROF_RANK": "2", "INCPROF_RANKS": ranks}
    assert record_only([host("simple.c"), "20"], tmp_path, **env).stderr == ""
    assert streams(tmp_path / "run") == (["rank-00002.gmon"] if wanted else [])


@pytest.mark.parametrize(
    ("local", "wanted"),
    [
        ({"SLURM_LOCALID": "1", "SLURM_STEP_ID": "0"}, True),
        ({"SLURM_LOCALID": "2", "SLURM_STEP_ID": "0"}, False),
        ({"PALS_LOCAL_RANKID": "5"}, False),
        ({"FLUX_TASK_LOCAL_ID": "0"}, True),
        ({"MPI_LOCALRANKID": "2", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "0"}, False),
        ({}, True),
    ],
)
def test_only_the_first_ranks_of_each_node(
    host: BuildHost, tmp_path: Path, local: dict[str, str], wanted: bool
) -> None:
    env = {"INCPROF_DIR": "run", "PMI_RANK": "7", "INCPROF_RANKS": "per-node:2", **local}
    assert record_only([host("simple.c"), "20"], tmp_path, **env).stderr == ""
    assert streams(tmp_path / "run") == (["rank-00007.gmon"] if wanted else [])


def test_a_launcher_without_ranks_of_nodes(host: BuildHost, tmp_path: Path) -> None:
    """Rank 0 prints the line for all ranks."""
    env = {"INCPROF_DIR": "run", "PMI_RANK": "0", "INCPROF_RANKS": "per-node:2"}
    assert "does not show which ranks share a node" in record_only([host("simple.c"), "20"], tmp_path, **env).stderr


@pytest.mark.parametrize(
    ("env", "rank", "ranks"),
    [
        ({**SLURM, "SLURM_PROCID": "3"}, 3, 4),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, 1, 2),
        ({"PMIX_RANK": "5", "PMIX_NAMESPACE": "n.1"}, 5, None),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"}, 2, 3),
        ({"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "8", "FLUX_JOB_ID": "f12"}, 1, 8),
        ({"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "2"}, 0, 2),
        ({"PALS_RANKID": "7", "PALS_SIZE": "8", "PALS_APID": "a"}, 7, 8),
        ({"PMI_RANK": "none"}, 0, 1),
        ({**SLURM, "SLURM_PROCID": "3", "INCPROF_RANK": "1"}, 1, 4),
    ],
)
def test_rank_of_each_launcher(
    host: BuildHost, tmp_path: Path, env: dict[str, str], rank: int, ranks: int | None
) -> None:
    assert record_only([host("simple.c"), "20"], tmp_path, INCPROF_DIR="run", **env).status == 3
    found = metadata(tmp_path / "run", f"rank-{rank:05}.gmon")
    assert (found["rank"], found["ranks"]) == (rank, ranks)


def test_ranks_of_a_step_meet_and_steps_do_not(host: BuildHost, tmp_path: Path) -> None:
    for step in ("0", "1"):
        for rank in ("0", "1"):
            env = {"SLURM_JOB_ID": "9", "SLURM_STEP_ID": step, "SLURM_PROCID": rank, "INCPROF_DIR": "run"}
            record_only([host("simple.c"), "20"], tmp_path, **env)
    assert streams(tmp_path / "run") == streams(tmp_path / "run.1") == ["rank-00000.gmon", "rank-00001.gmon"]
    assert (tmp_path / "run/launch").read_text() == "job 9.0\n"


def test_programs_of_a_batch_script_do_not_meet(host: BuildHost, tmp_path: Path) -> None:
    """A batch script itself has SLURM_PROCID=0 and no step: what it starts without srun is no rank of anything."""
    for _ in range(2):
        env = {"SLURM_JOB_ID": "9", "SLURM_PROCID": "0", "SLURM_NTASKS": "16", "INCPROF_DIR": "run"}
        record_only([host("simple.c"), "20"], tmp_path, **env)
    assert streams(tmp_path / "run") == streams(tmp_path / "run.1") == ["rank-00000.gmon"]
    assert metadata(tmp_path / "run")["ranks"] == 1
