"""Compiles OpenMP programs with GCC and Clang, runs them under libincprof_omp, and reads back what it wrote."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from incprof.record.launch import find_loop_library
from incprof.systems.openmp.analyse import Loop, LoopRun
from incprof.systems.openmp.read import read_loops

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "selfanalyze_fixtures"
COMPILERS = ("gcc", "clang")


@dataclass(frozen=True)
class Analysed:
    """How a program went alone and under the library, and what that has written."""

    alone: subprocess.CompletedProcess[str]
    under: subprocess.CompletedProcess[str]
    runs: list[LoopRun]

    def printed(self, name: str) -> int:
        """The number in the program's own line `name number`."""
        found = re.search(rf"^{name} (\d+)$", self.under.stdout, re.MULTILINE)
        assert found is not None, self.under.stdout
        return int(found[1])

    def loops(self, period: int, kind: str = "detected") -> list[Loop]:
        """The loops of all processes with so many regions in an iteration."""
        return [loop for run in self.runs for loop in run.loops if (loop.kind, loop.period) == (kind, period)]


@dataclass(frozen=True)
class Programs:
    """Compiles once per session."""

    root: Path

    def compile(
        self, source: str, *flags: str, compiler: str = "gcc", name: str = "", link: Sequence[str] = ()
    ) -> Path:
        """A program of the fixtures; the test is skipped where the compiler or its OpenMP is missing.

        flags come before the source, link behind it.
        """
        if shutil.which(compiler) is None:
            pytest.skip(f"{compiler} is not installed")
        target = self.root / (name or f"{Path(source).stem}-{compiler}")
        if target.exists():
            return target
        words = [compiler, "-O2", "-g", "-fopenmp", f"-I{ROOT / 'selfanalyze' / 'include'}", *flags]
        command = [*words, *([str(FIXTURES / source)] if source else []), "-o", str(target), *link, "-ldl"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0 and re.search(r"-lomp|omp\.h", done.stderr):
            pytest.skip(f"{compiler} has no OpenMP here")
        assert done.returncode == 0, done.stderr
        return target


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Compiled programs."""
    return Programs(tmp_path_factory.mktemp("openmp"))


def environment(**more: str) -> dict[str, str]:
    """Three threads that do not spin: the machine may have fewer processors."""
    return {**os.environ, "OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive", "OMP_DYNAMIC": "false", **more}


def analyse(command: Sequence[str | Path], folder: Path, preload: str = "%s", **settings: str) -> Analysed:
    """Run a program alone and under the library.

    preload: LD_PRELOAD, with `%s` for the library. settings: SELFANALYZE_ variables, in small letters.
    """
    directory = folder / "run"
    variables: Mapping[str, str] = {
        "LD_PRELOAD": preload % find_loop_library(os.environ),
        "SELFANALYZE_DIR": str(directory),
        "SELFANALYZE_JOIN": "1",
        **{f"SELFANALYZE_{name.upper()}": value for name, value in settings.items()},
    }
    directory.mkdir()
    words = [str(word) for word in command]
    alone, under = (
        subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        for env in (environment(LD_PRELOAD=preload.replace("%s", "")), environment(**variables))
    )
    runs = read_loops(str(directory)) if any(directory.iterdir()) else []
    return Analysed(alone, under, runs)


def unnoticed(done: Analysed) -> None:
    """The program behaved as it does alone."""
    assert (done.under.returncode, done.under.stdout) == (done.alone.returncode, done.alone.stdout)
    assert done.under.stderr == done.alone.stderr == ""
