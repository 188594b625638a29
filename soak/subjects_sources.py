"""Sources of users: heartbeats are put in, found and taken out."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from soak.mutate import TEXT, Mutator, mutate
from soak.seeds_runs import runs, with_source
from soak.subject import Command, Subject, Tree

ROOT = Path(__file__).parent.parent
LARGEST = 20_000
PIECES = (
    b"{", b"}", b"(", b")", b";", b"#if 0\n", b"#endif\n", b"#else\n", b"/*", b"*/", b"//", b"\\\n", b'"', b"'",
    b"EKG_SCOPE(1);", b"ekg_begin(1);", b"ekg_end(1);", b"call ekg_begin(1)\n", b"call ekg_end(1)\n",
    b"#include <appekg.h>\n", b"return x;", b"goto a;", b"a:", b"switch (x) { case 1:", b"while (1)", b"do {",
    b"} while (0);", b"for (;;)", b"R\"x(", b")x\"", b"??/", b"template <", b"operator()", b"[&](auto x) -> int {",
    b"end do\n", b"do 10 i = 1, n\n", b"10 continue\n", b"contains\n", b"end subroutine\n", b"&\n",
    b"!$omp parallel do\n", b"if (a) return\n", b"exit outer\n", b"select case (x)\n", b"C     old comment\n",
    b"include 'x'\n", b"#define X(a) \\\n", b"\t", b"\r\n", b"\xef\xbb\xbf", b"_Pragma(\"omp\")",
    b"__attribute__((x))", b"extern \"C\" {",
)  # fmt: skip
COMMANDS: tuple[tuple[float, Command], ...] = (
    (5, ("instrument", "run", "--source", "src", "--site", "solve:loop")),
    (5, ("instrument", "run", "--source", "src", "--site", "solve:body", "--style", "calls")),
    (3, ("instrument", "run", "--source", "src", "--site", "main:loop", "--macro-blank", "TWICE")),
    (5, ("instrument", "--source", "src", "--remove")),
    (2, ("instrument", "run", "--source", "src", "--site", "write_out:loop", "--write")),
)


# Whole commands look for phases, which takes most of their time.
ROUGHLY = 500.0


def insert_piece(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A word of a language stands between two others."""
    places = [match.start() for match in re.finditer(rb"\b|\n", data)] or [0]
    at = dice.choice(places)
    return data[:at] + dice.choice(PIECES) * dice.choice((1, 1, 1, 3, 300)) + data[at:]


MUTATORS: tuple[Mutator, ...] = (*TEXT, *[insert_piece] * len(TEXT))


def mutate_source(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage to a source."""
    return mutate(dice, data, others, MUTATORS)


def sources(pattern: str) -> list[bytes]:
    """Sources of examples, of the programs with known phases, and of the tests."""
    rooms = ("examples", "truth/programs", "tests/integration/instrument_fixtures", "tests/integration/fixtures")
    paths = [path for room in rooms for path in sorted((ROOT / room).rglob(pattern))]
    return [path.read_bytes() for path in paths if path.stat().st_size <= LARGEST]


def placed(texts: Sequence[bytes], suffix: str) -> list[Tree]:
    """Each with a run whose functions lie in it, and with heartbeats that may stand in it."""
    base = with_source(runs()[0])
    trees = []
    for text in texts:
        tree = {path: data.replace(b"src/app.c", b"src/app" + suffix.encode()) for path, data in base.items()}
        del tree["src/app.c"]
        trees.append({**tree, f"src/app{suffix}": text})
    return trees


FORTRAN = b"""program main
  implicit none
  integer :: i
  do i = 1, 3
    call solve(i)
  end do
contains
  subroutine solve(n)
    integer, intent(in) :: n
    integer :: j
    outer: do j = 1, n
      if (j == 2) cycle outer
      print *, j
    end do outer
  end subroutine solve
end program main
"""


def subjects() -> list[Subject]:
    """C, C++, Fortran of both forms."""
    own = with_source(runs()[0])["src/app.c"]
    fixed = b"\n".join(b"      " + line.strip() for line in FORTRAN.splitlines()).replace(b"outer: ", b"")
    seeds = {
        "c": placed([own] * 20 + sources("*.c"), ".c"),
        "cpp": placed([own] * 5 + sources("*.cpp"), ".cpp"),
        "f90": placed([FORTRAN] * 20 + sources("*.f90"), ".f90"),
        "f": placed([fixed], ".f"),
    }
    shares = {"c": 0.3, "cpp": 0.2, "f90": 0.3, "f": 0.15}
    return [
        Subject(f"source-{name}", shares[name], trees, r"src/app\..*", mutate_source,
                ((ROUGHLY, ("read-source", f"src/app.{name}")), *COMMANDS))
        for name, trees in seeds.items()
    ]  # fmt: skip
