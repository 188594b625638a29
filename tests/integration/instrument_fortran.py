"""Puts heartbeats into every place of a Fortran file that takes one, compiles and runs it, and reads what it left."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import appekg
from incprof.source.fortran.insert import fortran_insertions
from incprof.source.fortran.marks import strip_fortran
from incprof.source.fortran.procedures import parse_fortran
from incprof.source.model import Announcement, Beat, insert
from tests.integration.appekg_build import ROOT, EkgBuilder
from tests.integration.appekg_use import environment

FIXTURES = Path(__file__).parent / "instrument_fixtures" / "fortran"
# A place that a program counts by itself has its name at the end of the line.
NAMED = re.compile(rb"@(\w+)[ \t]*\r?$", re.M)
TICKED = re.compile(r"^@(\w+) (\d+)$", re.M)


@dataclass(frozen=True)
class Patched:
    """A file with all the heartbeats that it takes.

    data: its bytes. refused: the reasons by line and "body" or "loop". names: of heartbeats by id.
    """

    data: bytes
    refused: dict[tuple[int, str], str]
    names: dict[int, str]


def is_fixed(name: str) -> bool:
    return name.lower().endswith((".f", ".for"))


def patched(path: Path, data: bytes | None = None) -> Patched:
    """Every place, each with an id and a name of its own; what comes out again is what went in."""
    original = path.read_bytes() if data is None else data
    fixed = is_fixed(path.name)
    file = parse_fortran(path.name, original, fixed=fixed)
    named = {original.count(b"\n", 0, found.start()) + 1: found[1].decode() for found in NAMED.finditer(original)}
    beats: list[Beat] = []
    refused, names = {}, {}
    for at, function in enumerate(file.functions):
        places = [(None, "body", function.line, function.refusal)]
        places += [(loop, "loop", each.line, each.refusal) for loop, each in enumerate(function.loops)]
        for loop, kind, line, refusal in places:
            if refusal:
                refused[line, kind] = refusal
            else:
                beats.append(Beat(len(beats) + 1, at, loop))
                names[len(beats)] = named.get(line, f"{function.name}:{kind}:{line}")
    announce = [Announcement(number, name) for number, name in names.items()]
    has_main = any(function.is_main for function in file.functions)
    text = insert(original, fortran_insertions(file, beats, announce if has_main else ()))
    assert strip_fortran(text, fixed=fixed) == original
    return Patched(text, refused, names)


@dataclass(frozen=True)
class Toolchain:
    """gfortran, with the module and the library of the checkout. folder: where programs are made."""

    folder: Path
    library: Path

    def build(self, name: str, data: bytes, flags: str, *, output: str) -> list[str]:
        """Compile a program with ticks.f90, and return the warnings, without line numbers."""
        (self.folder / name).write_bytes(data)
        sources = [ROOT / "appekg/fortran/appekg.f90", FIXTURES / "ticks.f90", self.folder / name]
        words = ["gfortran", "-O1", "-Wall", "-Wno-line-truncation", "-Wno-tabs", f"-I{FIXTURES}", *flags.split()]
        words += [*sources, self.library, f"-Wl,-rpath,{self.library.parent}", "-o", output]
        done = subprocess.run(list(map(str, words)), cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return sorted(re.sub(r"\d+", "#", each) for each in re.findall(r"Warning: (.*)", done.stderr))

    def run(self, program: str) -> tuple[str, int]:
        """What a program prints, and its exit status. Its heartbeats are in `runs`."""
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        where = environment(EKG_DIR=self.folder / "runs")
        done = subprocess.run(
            [self.folder / program],
            cwd=self.folder,
            env=where,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.stderr == ""
        return done.stdout, done.returncode

    def counts(self) -> dict[str, int]:
        """Beats by name; none is open and none was ended that had not begun."""
        found = appekg.read(self.folder / "runs")
        assert found.warnings == ()
        for process in found.processes:
            assert not process.intervals["unmatched"].any()
            assert not process.intervals["abandoned"].any()
        last = found.rows[found.rows["interval"] == found.rows["interval"].max()] if len(found.rows) else found.rows
        assert not last["open"].any()
        return {
            beat.name or str(number): int(found.rows["count"][found.rows["id"] == number].sum())
            for number, beat in found.beats.items()
        }

    def same_but_for_beats(self, name: str, data: bytes, flags: str = "") -> Patched:
        """Compile and run a program with heartbeats and without: the same output, and beats as it counts them."""
        made = patched(Path(name), data)
        plain = self.build(name, data, flags, output="plain")
        expected = self.run("plain")
        assert self.build(name, made.data, flags, output="patched") == plain
        assert self.run("patched") == expected
        counts = self.counts()
        ticked = {place: int(number) for place, number in TICKED.findall(expected[0])}
        assert {place: counts.get(place, 0) for place in ticked} == ticked
        assert ticked.keys() <= set(made.names.values())
        return made


@pytest.fixture
def fortran(ekg: EkgBuilder, tmp_path: Path) -> Toolchain:
    """Compiles Fortran with the library of the checkout."""
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    return Toolchain(tmp_path, ekg.library())
