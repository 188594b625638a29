"""Ordinary programs under the exported library, and below a recording of others, are what they are without it.

What is compared: every byte of stdout and stderr, exit status or signal, every file that is left with its contents, and
the processes that still run afterwards.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.record.launch import find_library
from tests.integration.collector import clean_environment
from tests.integration.hosts import need, need_root
from tests.paths import INTEGRATION, ROOT

TIMEOUT_S = 600

FIXTURES = INTEGRATION / "ordinary_fixtures"


@dataclass(frozen=True)
class Commands:
    """What a shell is to do. `needs`: the programs without which it cannot."""

    name: str
    needs: list[str]
    quick: bool
    script: str


def all_commands() -> list[Commands]:
    """Those of commands.txt."""
    text = (FIXTURES / "commands.txt").read_text()
    found = re.findall(r"^== ([^:\n]+): ([^(\n]+?)( \(quick\))?\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL)
    return [Commands(name, needs.split(), bool(quick), script) for name, needs, quick, script in found]


@dataclass(frozen=True)
class Left:
    """The visible effects of ended commands: output, status, files with their contents, processes."""

    status: int
    stdout: bytes
    stderr: bytes
    files: dict[str, str]
    running: list[str]


def carry_out(script: str, place: Path, before: list[str], env: dict[str, str]) -> Left:
    """Run a script in a new directory, which has this name each time, and look at what is left."""
    shutil.copytree(FIXTURES, place)
    for path in place.iterdir():
        os.utime(path, (10**9, 10**9))
    mark = str(uuid.uuid4())
    done = subprocess.run(
        [*before, "sh", "-c", script],
        cwd=place,
        env={**surroundings(place), **env, "ORDINARY_MARK": mark},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    files = {str(path.relative_to(place)): contents(path) for path in sorted(place.rglob("*"))}
    left = Left(done.returncode, done.stdout, done.stderr, files, with_mark(mark))
    shutil.rmtree(place)
    return left


def surroundings(place: Path) -> dict[str, str]:
    """An environment in which the same commands do the same each time."""
    same = ("PATH", "USER", "LOGNAME", "SHELL", "HWLOC_COMPONENTS")
    git = {"NAME": "a", "EMAIL": "a@b.invalid", "DATE": "1000000000 +0000"}
    return {
        **{name: value for name, value in clean_environment().items() if name in same},
        **{name: str(place) for name in ("HOME", "TMPDIR")},
        **dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PYTHONDONTWRITEBYTECODE"), "1"),
        **{f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER") for what, text in git.items()},
        **{"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", "TZ": "UTC", "COLUMNS": "80", "TERM": "dumb"},  # noqa: PIE800
        "NOBODY": "setpriv --reuid=65534 --regid=65534 --clear-groups",
    }


# Files that hold when they were made: that they are there is compared.
DATED = (".git/index", ".git/logs/")


def contents(path: Path) -> str:
    """What a file holds."""
    if path.is_symlink() or path.is_dir():
        return "link" if path.is_symlink() else "directory"
    return "dated" if any(part in str(path) for part in DATED) else hashlib.sha256(path.read_bytes()).hexdigest()


def with_mark(mark: str) -> list[str]:
    """Names of the processes that have this value in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "comm").read_text().strip())
        except OSError:  # it has ended, or belongs to another user
            continue
    return sorted(found)


def ways(place: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """How the library comes to programs that it is not to touch: words before the command, and variables."""
    preload = {"LD_PRELOAD": str(find_library(os.environ)), "INCPROF_DIR": str(place / "run")}
    record = [sys.executable, "-m", "incprof", "record", "--log", "quiet", "-o", str(place / "run")]
    path = {"PYTHONPATH": str(ROOT)}
    return {
        "exported": ([], preload),
        "exported for another program": ([], {**preload, "INCPROF_EXE": "another"}),
        "exported for another command": ([], {**preload, "INCPROF_PROGRAM": "/none/another"}),
        "below record": ([*record, "--follow", "0", "--"], path),
        "below record of another": ([*record, "--exe", "another", "--"], path),
    }


def same_in(commands: Commands, place: Path, some: list[str]) -> None:
    """Commands leave the same behind in each of these ways as they do alone."""
    need(*commands.needs)
    if commands.name.startswith("setuid-"):
        need_root()
    place.chmod(0o755)
    alone = carry_out(commands.script, place / "place", [], {})
    for way in some:
        assert carry_out(commands.script, place / "place", *ways(place)[way]) == alone, way
        assert os.listdir(place) == [], way


@pytest.mark.parametrize("commands", [each for each in all_commands() if each.quick], ids=lambda each: each.name)
def test_under_the_exported_library(tmp_path: Path, commands: Commands) -> None:
    same_in(commands, tmp_path, ["exported for another command"])


# Those that show the inside of a process: the thread of a recording, its handlers and system calls.
SEEN = frozenset(["gdb", "inherited", "signals", "strace", "valgrind"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "commands", [each for each in all_commands() if each.name not in SEEN], ids=lambda each: each.name
)
def test_recorded_with_all_that_it_starts(tmp_path: Path, commands: Commands) -> None:
    """Commands behave as alone, and leave the recording besides."""
    need(*commands.needs)
    if commands.name.startswith("setuid-"):
        need_root()
    tmp_path.chmod(0o755)
    alone = carry_out(commands.script, tmp_path / "place", [], {})
    words, variables = ways(tmp_path)["below record"]
    whole = [word for word in words if word not in ("--follow", "0")]
    assert carry_out(commands.script, tmp_path / "place", whole, variables) == alone
    assert set(os.listdir(tmp_path)) <= {"run"}


@pytest.mark.slow
@pytest.mark.parametrize("commands", all_commands(), ids=lambda each: each.name)
def test_in_every_way(tmp_path: Path, commands: Commands) -> None:
    same_in(commands, tmp_path, list(ways(tmp_path)))


def test_what_is_recorded_is_detected(tmp_path: Path) -> None:
    """The comparison itself: a program that is recorded leaves a directory."""
    exported, variables = ways(tmp_path)["exported"]
    left = carry_out("seq 3", tmp_path / "place", exported, {**variables, "INCPROF_EXE": "seq"})
    assert left.stdout == b"1\n2\n3\n"
    assert os.listdir(tmp_path) == ["run"]
