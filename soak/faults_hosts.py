"""The host program, built in all relevant ways: with and without -pg, with and without heartbeats."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.record.launch import find_library

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "soak" / "hosts"
PLUGIN = "plugin.c"
# Flags of the host without us: what each build is compared with.
ALONE = {"-O2": "alone-O2", "-O0": "alone-O0"}


@dataclass(frozen=True)
class Build:
    """A way to build the host: compiler and flags. beats: linked with the heartbeat library."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    beats: bool = False

    @property
    def counted(self) -> bool:
        """Whether it can be recorded: its functions call mcount or __fentry__."""
        return "-pg" in self.flags

    @property
    def alone(self) -> str:
        """The name of the same program without the libraries."""
        return ALONE[self.flags[0]]


BUILDS = (
    Build("pg", "gcc", ("-O2", "-pg")),
    Build("pg-O0", "gcc", ("-O0", "-pg")),
    Build("fentry", "gcc", ("-O2", "-pg", "-mfentry")),
    Build("clang", "clang", ("-O2", "-pg")),
    Build("beats", "gcc", ("-O2",), beats=True),
    Build("both", "gcc", ("-O2", "-pg"), beats=True),
)


def _compile(words: list[str | Path], target: Path) -> None:
    if target.exists():
        return
    done = subprocess.run([*words, "-o", target], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"soak: {target.name} cannot be built: {done.stderr}")


def beats_library(place: Path) -> Path:
    """Return libappekg.so.1 of the installation."""
    installed = find_library(os.environ).parent.parent.parent / "appekg" / "_lib" / "libappekg.so.1"
    target = place / "libappekg.so.1"
    if not target.exists():
        shutil.copy(installed, target)
    return target


def build_hosts(place: Path, names: Sequence[str] = ()) -> list[Build]:
    """Build them into `place`, which any user can read; return those whose compiler is installed.

    names: only these, and what they are compared with.
    """
    sources = [path for path in sorted(SOURCES.glob("*.c")) if path.name != PLUGIN]
    common: list[str | Path] = ["-g", "-pthread", "-Wno-infinite-recursion", "-Wno-unknown-warning-option"]
    made = []
    alone = [Build(name, "gcc", (flag,)) for flag, name in ALONE.items()]
    wanted = [build for build in BUILDS if not names or build.name in names]
    for build in [*alone, *wanted]:
        if shutil.which(build.compiler) is None:
            print(f"soak: no {build.compiler}", file=sys.stderr)
            continue
        words: list[str | Path] = [build.compiler, *build.flags, *common]
        beats: list[str | Path] = [beats_library(place), f"-Wl,-rpath,{place}"] if build.beats else []
        define = ["-DHEARTBEATS", f"-I{ROOT / 'appekg' / 'include'}"] if build.beats else []
        _compile([*words, *define, *sources, *beats], place / build.name)
        _compile([*words, "-shared", "-fPIC", SOURCES / PLUGIN], place / f"{build.name}-plugin.so")
        if build not in alone:
            made.append(build)
    return made
