"""Runs `incprof sample` as its users do, on a machine as it is or with the counters of a script."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "sample_fixtures"


@dataclass(frozen=True)
class Recording:
    """A file of incprof sample: its comments, and each column by its name."""

    comments: list[str]
    columns: dict[str, list[float]]

    def __getitem__(self, name: str) -> list[float]:
        return self.columns[name]

    def has_comment(self, text: str) -> bool:
        return any(text in comment for comment in self.comments)


def read(path: Path) -> Recording:
    lines = path.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert path.read_text().endswith("\n")
    names = rows[0].keys() if rows else []
    columns = {name: [float(row[name]) for row in rows] for name in names}
    return Recording([line for line in lines if line.startswith("#")], columns)


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "incprof", *map(str, words)]


def sample(*words: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **variables}
    return subprocess.run(
        command("sample", *words), cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def until_rows(count: int) -> list[str]:
    """A program to be sampled that ends when run.csv has so many rows, however late they are."""
    return ["sh", "-c", f'until [ "$(grep -c "^[0-9]" run.csv)" -ge {count} ]; do sleep 0.02; done']


@dataclass(frozen=True)
class Programs:
    """Compiles the fixtures once per session."""

    root: Path

    def compile(self, source: str, *flags: str) -> Path:
        target = self.root / Path(source).stem
        if not target.exists():
            words = ["gcc", "-O2", "-D_GNU_SOURCE", *flags, str(FIXTURES / source), "-o", str(target), "-ldl"]
            subprocess.run(words, check=True)
        return target


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("sampled"))


@dataclass(frozen=True)
class Machine:
    """A machine with counters: `counts` holds the lines of its script."""

    place: Path
    library: Path

    def sample(self, counts: Sequence[str], *words: str | Path) -> subprocess.CompletedProcess[str]:
        script, log = self.place / "script", self.place / "log"
        script.write_text("".join(f"{line}\n" for line in counts))
        log.unlink(missing_ok=True)
        variables = {"LD_PRELOAD": str(self.library), "FAKE_COUNTERS": str(script), "FAKE_LOG": str(log)}
        return sample("-o", "run.csv", "--force", *words, cwd=self.place, **variables)

    @property
    def recording(self) -> Recording:
        return read(self.place / "run.csv")

    @property
    def opened(self) -> list[dict[str, int]]:
        """What perf_event_open was called with, a call each."""
        lines = (self.place / "log").read_text().splitlines()
        return [{key: int(value) for key, value in (word.split("=") for word in line.split())} for line in lines]


@pytest.fixture
def machine(sampled: Programs, tmp_path: Path) -> Machine:
    return Machine(tmp_path, sampled.compile("counters.c", "-shared", "-fPIC"))
