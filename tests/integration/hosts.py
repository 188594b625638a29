"""Host programs of the lifecycle tests: built once, run with and without the collector, compared, read back."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from incprof.model import IntervalProfile
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import Outcome, run, variables
from tests.integration.compiled import Compiled, shared_directory

HOSTS = Path(__file__).parent / "lifecycle_fixtures"
HEADER = struct.Struct("<4sIBBHII")


class BuildHost(Protocol):
    """Compiles a program of lifecycle_fixtures/: `host("ends.c")`."""

    def __call__(
        self, name: str, *, flags: str = "", pg: bool = True, output: str = "", compiler: str = "gcc"
    ) -> Path: ...


def compile_host(root: Path, name: str, *, flags: str = "", pg: bool = True, output: str = "", compiler: str) -> Path:
    """Compile a fixture under `root`, unless that has been done."""
    words = [compiler, "-O2", "-g", "-pthread", *(["-pg"] if pg else []), *flags.split(), str(HOSTS / name), "-ldl"]
    return Compiled(root).made(output or Path(name).stem, words)


def need(*tools: str) -> None:
    """Skip the test where a tool is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def need_root() -> None:
    """Skip the test for ordinary users."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user or to mount")


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a file system of this size, such as "64k", on a new directory; skip where that is not permitted."""
    need_root()
    need("mount")
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a tmpfs is not permitted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@dataclass(frozen=True)
class Trial:
    """A program's two runs. `place` is the recorded one's working directory."""

    alone: Outcome
    recorded: Outcome
    place: Path
    directory: Path

    def lines(self) -> list[str]:
        """Return the collector's lines."""
        return collector_lines(self.recorded)

    def profile(self, pid: int | None = None) -> IntervalProfile:
        """What was recorded of the first process, or of `pid`."""
        return read_profile(open_run(self.directory), process=pid)

    def files(self) -> list[str]:
        """Names of the streams in the run directory."""
        return streams(self.directory)


def collector_lines(outcome: Outcome) -> list[str]:
    """The lines on stderr that the collector wrote."""
    return [line for line in outcome.stderr.splitlines() if line.startswith("incprof: ")]


def streams(directory: Path) -> list[str]:
    """Names of the streams in a run directory, none where there is no directory."""
    return sorted(path.name for path in directory.glob("rank-*.gmon"))


def try_both(
    command: Sequence[str | Path],
    place: Path,
    *,
    env: Mapping[str, str] | None = None,
    directory: Path | None = None,
    interval: float = 0.05,
    lines: int | None = 0,
    timeout_s: float = 600,
    reference: Sequence[str | Path] | None = None,
) -> Trial:
    """Run a command alone and under the collector; exit code, stdout and its own stderr must be the same.

    `lines`: how many lines the collector is expected to write on stderr (None: any number). `reference`: what to run
    alone, where glibc's own runtime would spoil the comparison.
    """
    alone_at, recorded_at = place / "alone", place / "recorded"
    for at in (alone_at, recorded_at):
        at.mkdir(exist_ok=True)
    directory = directory or recorded_at / "run"
    alone = run(reference or command, alone_at, {"ALONE": "1", **(env or {})}, timeout_s)
    recorded = run(command, recorded_at, {**variables(directory, interval=interval), **(env or {})}, timeout_s)
    assert (recorded.status, recorded.stdout) == (alone.status, alone.stdout), recorded
    said = collector_lines(recorded)
    own = [line for line in recorded.stderr.splitlines() if line not in said]
    expected = [line for line in alone.stderr.splitlines() if "gmon.out: " not in line]
    assert own == expected, (recorded.stderr, alone.stderr)
    assert lines is None or len(said) == lines, recorded.stderr
    return Trial(alone, recorded, recorded_at, directory)


def record_only(command: Sequence[str | Path], place: Path, **env: str) -> Outcome:
    """Run a command under the collector with exactly these variables beside the library's."""
    place.mkdir(exist_ok=True)
    preload = variables(place)["LD_PRELOAD"]
    return run(command, place, {"LD_PRELOAD": preload, **env})


def calls(profile: IntervalProfile) -> dict[str, int]:
    """Calls by mangled name."""
    totals = np.ravel(profile.calls.sum(axis=0))
    return {f.mangled: int(n) for f, n in zip(profile.functions, totals, strict=True) if n}


def ticks(profile: IntervalProfile) -> int:
    """All ticks of the samples."""
    return int(profile.samples.weight.sum())


def ticks_below(profile: IntervalProfile, name: str) -> int:
    """Ticks in a function and in what it calls."""
    tree, found = profile.paths, 0
    for node, weight in zip(profile.samples.node.tolist(), profile.samples.weight.tolist(), strict=True):
        while node > 0 and (tree.function[node] < 0 or profile.functions[int(tree.function[node])].mangled != name):
            node = int(tree.parent[node])
        found += int(weight) if node > 0 else 0
    return found


@dataclass(frozen=True)
class RawImage:
    """An image of a stream, as it lies in the file."""

    kind: int
    module: int
    start: int
    end: int


def raw_images(data: bytes) -> list[RawImage]:
    """The images of an undamaged stream."""
    found, at = [], 0
    while at < len(data):
        magic, version, kind, _, module, length, _ = HEADER.unpack_from(data, at)
        assert (magic, version) == (b"gmon", 1)
        end = at + HEADER.size + length
        assert end <= len(data), "torn"
        found.append(RawImage(kind, module, at, end))
        at = end
    return found


def wait_for_intervals(stream: Path, count: int) -> None:
    """Until the stream holds that many intervals."""
    for _ in range(60_000):
        # Half of an image may be in the file while it is being written.
        with suppress(AssertionError, struct.error, FileNotFoundError):
            if sum(image.kind == 2 for image in raw_images(stream.read_bytes())) >= count:
                return
        time.sleep(0.01)
    raise AssertionError(f"{stream} does not grow")


def ended_cleanly(path: Path) -> bool:
    """Return whether the last image of a stream has the flag."""
    return raw_images(path.read_bytes())[-1].kind == 8


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> BuildHost:
    """Compile once per session and set of options."""
    root = shared_directory(tmp_path_factory, "hosts")

    def build_host(name: str, *, flags: str = "", pg: bool = True, output: str = "", compiler: str = "gcc") -> Path:
        return compile_host(root, name, flags=flags, pg=pg, output=output, compiler=compiler)

    return build_host
