"""Where the files go, and what happens where they cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration.collector import clean_environment, run, variables
from tests.integration.command_line import incprof
from tests.integration.hosts import (
    BuildHost,
    calls,
    collector_lines,
    need,
    need_root,
    record_only,
    small_disk,
    streams,
    try_both,
)
from tests.variants import mostly_slow


def test_default_name(host: BuildHost, tmp_path: Path) -> None:
    place = tmp_path / "place"
    assert record_only([host("simple.c")], place).status == 3
    assert streams(place / "gmon-simple") == ["rank-00000.gmon"]
    assert record_only([host("simple.c")], place, SLURM_JOB_ID="77").status == 3
    assert streams(place / "gmon-simple-77") == ["rank-00000.gmon"]


def test_both_clocks_name_the_same_start(host: BuildHost, tmp_path: Path) -> None:
    """Series of a node are placed by the date of the start, samples by the other clock."""
    place = tmp_path / "place"
    record_only([host("simple.c")], place)
    start = read_profile(open_run(place / "gmon-simple")).metadata.raw
    between = time.time_ns() - time.monotonic_ns()
    assert isinstance(unix_ns := start["start_unix_ns"], int)
    assert isinstance(mono_ns := start["start_mono_ns"], int)
    # The header is written .1 s after the start, and more on a busy machine.
    assert unix_ns - mono_ns == pytest.approx(between, abs=5e7)


@pytest.mark.parametrize(
    "name", ["with space", "grüße-日本", "a/b/c/d", "trailing/", "x" * 255, "/".join(["y" * 200] * 10)]
)
def test_names(host: BuildHost, tmp_path: Path, name: str) -> None:
    trial = try_both([host("simple.c")], tmp_path, env={"INCPROF_DIR": name})
    assert streams(trial.place / name) == ["rank-00000.gmon"]
    assert calls(read_profile(open_run(trial.place / name)))["tick"] == 500


@pytest.mark.parametrize("name", ["x" * 256, "/".join(["y" * 200] * 30), "/".join(["w" * 199] * 20), "z" * 100_000])
def test_impossible_names(host: BuildHost, tmp_path: Path, name: str) -> None:
    """One line, and nothing made under half of the name."""
    trial = try_both([host("simple.c")], tmp_path, env={"INCPROF_DIR": name}, lines=1)
    assert {path.name for path in trial.place.iterdir()} <= {"stdout", "stderr", "gmon.out"}


@pytest.mark.slow
def test_names_in_another_encoding_than_utf_8(host: BuildHost, tmp_path: Path) -> None:
    """Directory, program and argument in Latin-1 are recorded and can be read."""
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    program = shutil.copy(host("simple.c"), place / os.fsdecode(b"program\xe9"))
    assert record_only([program, os.fsdecode(b"\xfc")], place).status == 3
    (directory,) = [path for path in place.iterdir() if path.is_dir()]
    profile = read_profile(open_run(directory))
    assert (calls(profile)["tick"], profile.metadata.exe) == (500, str(program))
    for words in (["phases"], ["export", "--format", "csv"], ["report", "-o", "-"]):
        done = incprof(*words, directory)
        assert ("internal error" in done.stderr, "damaged" in done.stderr) == (False, False)


def test_relative_directory_and_chdir(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("files.c"), "chdir"], tmp_path, env={"INCPROF_DIR": "here"})
    assert streams(trial.place / "here") == ["rank-00000.gmon"]


def test_two_runs_do_not_meet(host: BuildHost, tmp_path: Path) -> None:
    """The second takes DIR.1, the third DIR.2; what the first wrote stays as it is."""
    program, directory = host("simple.c"), tmp_path / "run"
    contents = []
    for number in range(3):
        assert run([program], tmp_path, variables(directory)).status == 3
        name = directory if number == 0 else tmp_path / f"run.{number}"
        contents.append((name / "rank-00000.gmon", (name / "rank-00000.gmon").read_bytes()))
    assert all(path.read_bytes() == data for path, data in contents)


def test_runs_at_the_same_time(host: BuildHost, tmp_path: Path) -> None:
    environment = {**clean_environment(), **variables(tmp_path / "run")}
    programs = [subprocess.Popen([host("simple.c")], env=environment, cwd=tmp_path) for _ in range(6)]
    assert [program.wait() for program in programs] == [3] * 6
    found = [streams(tmp_path / f"run{suffix}") for suffix in ["", ".1", ".2", ".3", ".4", ".5"]]
    assert found == [["rank-00000.gmon"]] * 6


def test_directory_is_a_file(host: BuildHost, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    trial = try_both([host("simple.c")], tmp_path, directory=tmp_path / "taken", lines=1)
    assert str(trial.directory) in trial.lines()[0]
    assert trial.directory.read_text() == "mine"


def test_unwritable_directory(host: BuildHost, tmp_path: Path) -> None:
    need_root()
    need("setpriv")
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)
    program = tmp_path / "simple"
    program.write_bytes(host("simple.c").read_bytes())
    program.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    library = tmp_path / "libincprof.so"
    library.write_bytes(Path(variables(tmp_path)["LD_PRELOAD"]).read_bytes())
    library.chmod(0o755)
    command: list[str | Path] = ["setpriv", "--reuid", "65534", "--clear-groups", program]
    trial = try_both(
        command,
        tmp_path,
        directory=closed / "run",
        lines=1,
        env={"LD_PRELOAD": str(library)},
        reference=["env", "-u", "LD_PRELOAD", *command],
    )
    assert "Permission denied" in trial.lines()[0]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    with small_disk(tmp_path / "small", "64k") as place:
        yield place


@pytest.mark.slow
@pytest.mark.parametrize("style", ["stream", "gmon"])
@pytest.mark.parametrize("free", [0, 20_000])
def test_full_disk(host: BuildHost, disk: Path, tmp_path: Path, style: str, free: int) -> None:
    """One line; what was written before is whole."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            for _ in range(200 if free == 0 else (65536 - free) // 4096):
                filler.write(bytes(4096))
        except OSError:
            pass
    env = {"INCPROF_FORMAT": style}
    trial = try_both([host("simple.c"), "600"], tmp_path, directory=disk / "run", interval=0.003, lines=1, env=env)
    assert "No space left" in trial.lines()[0]
    done = incprof("export", disk / "run", "--format", "csv", "-o", "-")
    assert done.returncode in ((4,) if free == 0 else (0, 4)), done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.parametrize("style", ["stream", pytest.param("gmon", marks=pytest.mark.slow)])
def test_directory_removed_during_the_run(host: BuildHost, tmp_path: Path, style: str) -> None:
    environment = {**clean_environment(), **variables(tmp_path / "run", interval=0.02), "INCPROF_FORMAT": style}
    with (tmp_path / "stderr").open("wb") as stderr:
        program = subprocess.Popen([host("simple.c"), "1000"], env=environment, cwd=tmp_path, stderr=stderr)
        while program.poll() is None and not (tmp_path / "run/symbols").exists():
            pass
        subprocess.run(["rm", "-rf", tmp_path / "run"], check=False)
        subprocess.run(["rm", "-rf", tmp_path / "run"], check=False)
        assert program.wait() == 3
    assert len((tmp_path / "stderr").read_text().splitlines()) <= 1
    assert (tmp_path / "stderr").read_text().startswith(("", "incprof: "))


@pytest.mark.parametrize(
    ("limit", "lines"),
    [("ulimit -f 0", 0), ("ulimit -f 1", 1), ("ulimit -n 4", 0), ("ulimit -i 0", None), ("ulimit -s 256", 0)],
)
def test_limits(host: BuildHost, tmp_path: Path, limit: str, lines: int | None) -> None:
    """A file size limit does not kill with SIGXFSZ; few descriptors, timers or stack are enough."""
    need("bash")
    command = f"{limit} || exit 99; exec {host('simple.c')}"
    trial = try_both(["bash", "-c", command], tmp_path, interval=0.02, lines=lines, reference=["sh", "-c", "exit 3"])
    assert trial.recorded.status == 3


@pytest.mark.parametrize("kilobytes", mostly_slow(4, [4000, 8000, 14000, 40000, 5000, 6000, 10000, 20000]))
def test_little_address_space(host: BuildHost, tmp_path: Path, kilobytes: int) -> None:
    """Where the program itself can run, it runs with us too."""
    need("bash")
    plain = host("simple.c", pg=False, output="simple-plain")
    command = f"ulimit -v {kilobytes}; exec {host('simple.c')}"
    alone = run(["bash", "-c", f"ulimit -v {kilobytes}; exec {plain}"], tmp_path, {})
    if alone.status != 3:
        pytest.skip("too little for the program alone")
    recorded = run(["bash", "-c", command], tmp_path, variables(tmp_path / "run", interval=0.02))
    if (
        "cannot map" in recorded.stderr
        or "cannot be preloaded" in recorded.stderr
        or "failed to map" in recorded.stderr
    ):
        pytest.skip("too little for the loader to load the library")
    assert recorded.status == 3, recorded
    assert len(collector_lines(recorded)) <= 1
    assert os.listdir(tmp_path)
