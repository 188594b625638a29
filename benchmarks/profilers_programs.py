"""The programs on which profilers are compared: one that only calls, and three as Debian ships them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command

SQL = """CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) INSERT INTO t
SELECT i, (i * 7919) % 100003, printf('%08x-%d', (i * 2654435761) % 4294967296, i % 97) FROM n;
CREATE INDEX ta ON t(a); CREATE INDEX tb ON t(b);
SELECT count(*), sum(x.a) FROM t x JOIN t y ON x.a = y.id WHERE y.b LIKE '%7-%';
SELECT substr(b, 1, 2), count(*) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;
DELETE FROM t WHERE a % 3 = 0;
SELECT max(length(b)) FROM (SELECT b FROM t ORDER BY b DESC);"""
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
velocity all create 3.0 87287 loop geom
fix 1 all nve
compute g all rdf 200
thermo_style custom step temp pe press c_g[50][2]
thermo 25
run {steps}
"""


@dataclass(frozen=True)
class Program:
    """A program to record: of some six seconds, and (`short`) of less work for tools that take many times as long.

    Attributes:
        name: its name.
        plain: without -pg.
        plain_short: the same, short.
        counted: the same or nearly the same program with -pg, or None.
        counted_short: the same, short.
        bare: the unrecorded run for `counted`: the same source without -pg, or the same program with an empty hook.
        bare_short: the same, short.
        bare_environment: environment of `bare`.
    """

    name: str
    plain: Command
    plain_short: Command
    counted: Command | None = None
    counted_short: Command | None = None
    bare: Command | None = None
    bare_short: Command | None = None
    bare_environment: dict[str, str] = field(default_factory=dict)

    def command(self, pg: bool, short: bool) -> Command:
        """Return the recorded command."""
        counted = self.counted_short if short else self.counted
        return counted if pg and counted is not None else self.plain_short if short else self.plain

    def bare_command(self, pg: bool, short: bool) -> Command:
        """Return the command that it is compared with."""
        bare = self.bare_short if short else self.bare
        return bare if pg and bare is not None else self.plain_short if short else self.plain


def callheavy(bed: Bed) -> Program:
    """Return a program of short functions a dozen calls deep, built both ways."""
    plain, counted = bed.compile("callheavy.c", pg=False), bed.compile("callheavy.c")
    return Program(
        *("callheavy", [plain, "4800"], [plain, "30"], [counted, "4800"], [counted, "30"]),
        *([plain, "4800"], [plain, "30"]),
    )


def lammps(bed: Bed) -> Program | str:
    """Return a program in C++: Debian's, and with -pg the one of benchmarks/realworld."""
    long, short = lammps_command(bed, cells=16, steps=1050), lammps_command(bed, cells=8, steps=20)
    if long is None or short is None:
        return "lmp is not here: apt-get install lammps"
    words: list[Command] = [long[1:], short[1:]]
    return _with(bed, "lammps", long[:1], _realworld() / "lammps" / "build" / "lmp_serial", words)


def lammps_command(bed: Bed, *, cells: int, steps: int) -> Command | None:
    """Return Debian's lammps, with atoms that attract one another; None where it is not installed."""
    program = shutil.which("lmp")
    script = bed.scratch / f"in.{cells}-{steps}"
    script.write_text(LAMMPS.format(cells=cells, steps=steps))
    return None if program is None else [program, "-in", script, "-log", "none", "-screen", "none"]


def sqlite(bed: Bed) -> Program | str:
    """Return a program in C, with deep recursion in a virtual machine: Debian's shell and library."""
    program = shutil.which("sqlite3")
    if program is None:
        return "sqlite3 is not here: apt-get install sqlite3"
    words: list[Command] = [[":memory:", SQL.format(rows=rows)] for rows in (2_800_000, 20_000)]
    return _with(bed, "sqlite", [program], _realworld() / "sqlite" / "sqlite3", words)


def threads(bed: Bed) -> Program | str:
    """Return a program of four threads that compress."""
    program = shutil.which("zstd")
    if program is None:
        return "zstd is not here: apt-get install zstd"
    words: list[Command] = []
    for name, size in (("long", 200_000_000), ("short", 2_000_000)):
        data = bed.scratch / f"{name}.input"
        if not data.exists():
            data.write_bytes(np.random.default_rng(1).integers(97, 105, size).astype(np.uint8).tobytes())
        words.append(["-9", "-T4", "-q", "-f", data, "-o", bed.scratch / "zstd.output"])
    return _with(bed, "zstd -T4", [program], _realworld() / "zstd" / "zstd", words)


def _with(bed: Bed, name: str, plain: Command, counted: Path, words: list[Command]) -> Program:
    long, short = words
    if not counted.exists():
        return Program(name, [*plain, *long], [*plain, *short])
    library = bed.scratch / "empty_hook.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(HERE / "programs" / "empty_hook.S"), "-o", str(library)], check=True)
    both = [counted, *long], [counted, *short]
    return Program(name, [*plain, *long], [*plain, *short], *both, *both, {"LD_PRELOAD": str(library)})


def _realworld() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    return Path(os.environ.get("INCPROF_SCRATCH", default))


PROGRAMS = {"callheavy": callheavy, "lammps": lammps, "sqlite": sqlite, "threads": threads}
