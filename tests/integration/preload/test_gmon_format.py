"""INCPROF_FORMAT=gmon and images cut out of streams, judged by stock gprof."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.model import IntervalProfile
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import run, variables
from tests.integration.hosts import BuildHost, calls, need, raw_images

EXPECTED = {"alpha": 10, "beta": 20, "gamma_": 30, "burn": 60, "tick": 70000, "work": 1}


def recorded(program: Path, place: Path, style: str) -> tuple[Path, float]:
    """Record the program; the run directory, and the CPU time that the process had."""
    directory = place / style
    env = {**variables(directory, interval=0.1, rate=250), "INCPROF_FORMAT": style}
    outcome = run([program], place, env)
    assert outcome.status == 0
    return directory, outcome.cpu_s


@pytest.fixture(scope="module")
def phases(host: BuildHost) -> Path:
    """The program that most tests record."""
    return host("phases.c")


@pytest.fixture(scope="module")
def runs(phases: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """The program recorded once in each format: the run directory, and the CPU time that the process had."""
    place = tmp_path_factory.mktemp("formats")
    return {style: recorded(phases, place, style) for style in ("stream", "gmon")}


def numbered(directory: Path) -> list[Path]:
    """The cumulative files in order."""
    return sorted(directory.glob("gmon-[0-9]*.0"), key=lambda path: int(re.findall(r"gmon-(\d+)", path.name)[0]))


def flat_profile(program: Path, *files: Path, flags: tuple[str, ...] = ()) -> dict[str, tuple[float, int]]:
    """Stock gprof's flat profile: name to (self seconds, calls)."""
    need("gprof")
    command = ["gprof", "-b", "-p", *flags, program, *files]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=program.parent)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if match := re.match(r"\s*[\d.]+\s+[\d.]+\s+([\d.]+)(?:\s+(\d+)\s+[\d.]+\s+[\d.]+)?\s+(\w+)$", line):
            found[match[3]] = (float(match[1]), int(match[2] or 0))
    return found


def self_s(profile: IntervalProfile) -> dict[str, float]:
    """Seconds by function."""
    totals = np.ravel(profile.self_s.sum(axis=0))
    return {f.mangled: float(s) for f, s in zip(profile.functions, totals, strict=True)}


@pytest.mark.parametrize("flags", ["", pytest.param("-no-pie", marks=pytest.mark.slow)])
def test_every_file_is_read_by_gprof(host: BuildHost, tmp_path: Path, flags: str) -> None:
    program = host("phases.c", flags=flags, output=f"phases{flags}")
    directory = recorded(program, tmp_path, "gmon")[0]
    files = numbered(directory)
    assert len(files) >= 5
    assert (directory / "gmon-meta.0.json").is_file()
    seen = [flat_profile(program, path) for path in files]
    # Cumulative: nothing ever decreases, and the last file has everything.
    for before, after in itertools.pairwise(seen):
        assert all(after[name][1] >= count and after[name][0] >= s - 1e-9 for name, (s, count) in before.items())
    assert {name: seen[-1][name][1] for name in EXPECTED} == EXPECTED
    assert seen[-1]["burn"][0] > 0.8 * sum(seconds for seconds, _ in seen[-1].values())


def test_gprof_sums_files(phases: Path, runs: dict[str, tuple[Path, float]], tmp_path: Path) -> None:
    """`gprof -s` of two files has twice the calls of one."""
    program, last = phases, numbered(runs["gmon"][0])[-1]
    need("gprof")
    done = subprocess.run(["gprof", "-s", program, last, last], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    once, twice = flat_profile(program, last), flat_profile(program, tmp_path / "gmon.sum")
    assert {name: twice[name][1] for name in EXPECTED} == {name: 2 * n for name, n in EXPECTED.items()}
    assert twice["burn"][0] == pytest.approx(2 * once["burn"][0], abs=0.05)


def test_both_formats_give_the_same(runs: dict[str, tuple[Path, float]]) -> None:
    for directory, cpu_s in runs.values():
        profile = read_profile(open_run(directory))
        assert {name: calls(profile)[name] for name in EXPECTED} == EXPECTED
        assert not profile.warnings
        # To start the program and to collect takes some of it.
        assert 0.6 * cpu_s < sum(self_s(profile).values()) <= cpu_s + 0.02


def test_gmon_and_gprof_agree(phases: Path, runs: dict[str, tuple[Path, float]]) -> None:
    directory = runs["gmon"][0]
    ours, stock = read_profile(open_run(directory)), flat_profile(phases, numbered(directory)[-1])
    for name, (seconds, count) in stock.items():
        assert calls(ours).get(name, 0) == count
        assert self_s(ours).get(name, 0.0) == pytest.approx(seconds, abs=0.006), name


def test_image_cut_out_of_a_stream(phases: Path, runs: dict[str, tuple[Path, float]], tmp_path: Path) -> None:
    """Every image of kind 3 is a gmon.out; gprof adds them up to the whole run."""
    program = phases
    data = (runs["stream"][0] / "rank-00000.gmon").read_bytes()
    files = []
    for image in raw_images(data):
        if image.kind == 3:
            files.append(tmp_path / f"cut-{image.start}")
            files[-1].write_bytes(data[image.start : image.end])
            flat_profile(program, files[-1])
    whole = flat_profile(program, *files)
    assert {name: whole[name][1] for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize("libs", ["separate", *(pytest.param(x, marks=pytest.mark.slow) for x in ("caller", "drop"))])
def test_library_time(host: BuildHost, tmp_path: Path, libs: str) -> None:
    """The clock is read in the vDSO and libc: that time is burn's by default, and no function's otherwise."""
    program = host("phases.c")
    env = {**variables(tmp_path / "run", interval=0.1), "INCPROF_FORMAT": "gmon", "INCPROF_LIBS": libs}
    assert run([program], tmp_path, env).status == 0
    profile = read_profile(open_run(tmp_path / "run"))
    assert {name: calls(profile)[name] for name in EXPECTED} == EXPECTED


def test_forked_child_has_a_series_of_its_own(host: BuildHost, tmp_path: Path) -> None:
    env = {**variables(tmp_path / "run", interval=0.05), "INCPROF_FORMAT": "gmon"}
    assert run([host("forks.c"), "fork"], tmp_path, env).status == 4
    found = open_run(tmp_path / "run")
    parent, child = (calls(read_profile(found, process=p))["tick"] for p in found.processes)
    assert (parent, child) == (1010, 7)
