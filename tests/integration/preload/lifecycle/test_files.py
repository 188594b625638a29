"""Descriptors, limits, users and roots: what the program does with its own never meets ours."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from tests.integration.conftest import Build
from tests.integration.hosts import BuildHost, calls, ended_cleanly, need, need_root, streams, ticks, try_both

SYS_RENAMEAT2 = 316


@pytest.mark.parametrize(
    ("mode", "said", "style"),
    [
        ("loop", "wrong 0\n", "stream"),
        ("loop", "wrong 0\n", "gmon"),
        ("range", "wrong 0\n", "stream"),
        ("pipe", "child 5\n", "stream"),
        ("few", "3 4 1\n", "stream"),
        ("few", "3 4 1\n", "gmon"),
        ("chdir", "chdir 0\n", "gmon"),
    ],
)
def test_recording_goes_on(host: BuildHost, tmp_path: Path, mode: str, said: str, style: str) -> None:
    """Everything is closed, limited or left behind; the program's own files hold nothing of ours."""
    env = {"INCPROF_FORMAT": style}
    trial = try_both([host("files.c"), mode], tmp_path, interval=0.05, env=env)
    assert trial.recorded.stdout == said
    assert calls(trial.profile())["tick"] == 20
    if style == "stream":
        assert ticks(trial.profile()) >= 15
        assert ended_cleanly(trial.directory / "rank-00000.gmon")


def test_no_descriptor_of_ours_in_the_program(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("files.c"), "count"], tmp_path, interval=0.05)
    assert calls(trial.profile())["tick"] == 20


@pytest.mark.parametrize("style", ["stream", pytest.param("gmon", marks=pytest.mark.slow)])
def test_lowest_descriptor_is_free(host: BuildHost, tmp_path: Path, style: str) -> None:
    """close(0) and open() give 0 every time, while files are opened and written at every millisecond."""
    env = {"INCPROF_FORMAT": style}
    trial = try_both([host("files.c"), "lowest"], tmp_path, interval=0.001, env=env)
    assert trial.recorded.stdout == "stolen 0\n"
    assert trial.profile().n_intervals > 50


def test_daemon(host: BuildHost, tmp_path: Path) -> None:
    """Each process of it ends as alone; the one that works is on record."""
    need("sh")
    # cat ends when the daemon, too, has closed the pipe.
    trial = try_both(["sh", "-c", f"{host('files.c')} daemon | cat"], tmp_path)
    assert trial.recorded.stdout == "daemon wrong 0\n"
    pids = [int(name.split(".")[1]) if name.count(".") > 1 else None for name in streams(trial.directory)]
    # The process between the two forks calls nothing: on a busy machine it lives long enough to be recorded, too.
    assert 50 in [calls(trial.profile(pid)).get("tick") for pid in pids]


def test_closed_stderr_stays_silent(host: BuildHost, tmp_path: Path) -> None:
    """A warning must not go into the file that took stderr's number. The directory cannot be written later on."""
    need("sh")
    program = host("files.c")
    trial = try_both(
        ["sh", "-c", f"ulimit -f 8; {program} stderr"],
        tmp_path,
        interval=0.02,
        env={"INCPROF_LOG": "debug"},
        lines=None,
    )
    assert trial.recorded.stdout == "fd 2\nsize 0\n"


def glibc_writes_to(place: Path) -> dict[str, str]:
    """For a program that goes elsewhere: alone, it would write its gmon.out there, or complain that it may not."""
    return {"GMON_OUT_PREFIX": str(place / "glibc")}


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_started_without_standard_descriptors(host: BuildHost, tmp_path: Path, closed: str) -> None:
    need("sh")
    env = {"INCPROF_RATE": "nonsense", **glibc_writes_to(tmp_path)}
    trial = try_both(["sh", "-c", f"{host('files.c')} chdir {closed}; echo $?"], tmp_path, env=env)
    assert calls(trial.profile())["tick"] == 20


def test_stderr_without_a_reader(host: BuildHost, tmp_path: Path) -> None:
    """A warning into a closed pipe does not kill the program."""
    need("bash")
    command = f"{{ sleep 0.2; {host('files.c')} chdir; echo $? >status; }} 2>&1 >out | true; cat status out"
    env = {"INCPROF_RATE": "nonsense", "INCPROF_LOG": "debug", **glibc_writes_to(tmp_path)}
    trial = try_both(["bash", "-c", command], tmp_path, env=env)
    assert trial.recorded.stdout == "0\nchdir 0\n"


def test_becomes_nobody(host: BuildHost, tmp_path: Path) -> None:
    """A program that drops its privileges after the start is recorded to its end."""
    need_root()
    trial = try_both([host("files.c"), "nobody"], tmp_path)
    assert trial.recorded.stdout == "setuid 0\n"
    assert ended_cleanly(trial.directory / "rank-00000.gmon")
    assert ticks(trial.profile()) >= 25


@pytest.mark.parametrize("style", ["stream", "gmon"])
def test_changes_its_root(host: BuildHost, tmp_path: Path, style: str) -> None:
    need_root()
    jail = tmp_path / "jail"
    jail.mkdir()
    trial = try_both([host("files.c"), "chroot", jail], tmp_path, env={"INCPROF_FORMAT": style})
    assert trial.recorded.stdout == "chroot 0\n"
    assert calls(trial.profile())["tick"] == 20
    assert [path.name for path in jail.iterdir()] in ([], ["gmon.out"])  # glibc's, of the run alone


@pytest.mark.parametrize("style", ["stream", "gmon"])
@pytest.mark.parametrize("how", ["hard", "symbolic"])
def test_links_under_names_that_can_be_guessed(host: BuildHost, tmp_path: Path, style: str, how: str) -> None:
    """In a directory that others can write to, no file is overwritten through a link, and ours are there."""
    directory, victim = tmp_path / "run", tmp_path / "victim"
    victim.write_text("mine")
    (directory / "symbols").mkdir(parents=True)
    build_id = build_id_of(host("simple.c"))
    names = ["gmon-meta.0.json", *(f"gmon-{n}.0" for n in range(5)), f"symbols/{build_id}.elf"]
    for name in names:
        path = directory / f"{name}.tmp"
        path.hardlink_to(victim) if how == "hard" else path.symlink_to(victim)
    trial = try_both([host("simple.c"), "100"], tmp_path, directory=directory, env={"INCPROF_FORMAT": style})
    assert victim.read_text() == "mine"
    assert calls(trial.profile())["tick"] == 500
    assert (directory / f"symbols/{build_id}.elf").is_file()
    assert len(list(directory.rglob("*.tmp"))) == len(names)


def test_a_file_system_that_renames_without_conditions(build: Build, host: BuildHost, tmp_path: Path) -> None:
    """Lustre and NFS do: the copy of the symbols gets its name by a link."""
    refuse = [build("refuse.c", pg=False), str(SYS_RENAMEAT2), str(errno.EINVAL)]
    trial = try_both([*refuse, host("simple.c"), "20"], tmp_path)
    (copy,) = (trial.directory / "symbols").iterdir()
    assert copy.name == f"{build_id_of(host('simple.c'))}.elf"


def build_id_of(program: Path) -> str:
    """The program's build-id, in hexadecimal digits."""
    text = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return text.partition("Build ID: ")[2].split()[0]
