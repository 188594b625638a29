"""Make the recordings that tests of the analysis read: `python tests/recordings/make.py [NAME...]`, all without a name.

A machine that has other work to do gives a program fewer samples, and a test of what is made of samples would fall
with them. So each program was recorded once, on a machine that had nothing else to do, and is read back by `kept`. To
be made again when its source changes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.recordings.beating import BEATING, Beating
from tests.recordings.pack import PLACE, pack

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES, TEXTS = ROOT / "examples", HERE / "sources"
STAGES, FIXTURES = ROOT / "tests/integration/sites_fixtures", ROOT / "tests/integration/fixtures"
HOSTS = ROOT / "tests/integration/lifecycle_fixtures"
LIBRARY = "libcalls.so"
INCPROF = [sys.executable, "-m", "incprof"]
COMPILERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
OPENMP = ("-fopenmp",)
TWO_THREADS = {"OMP_NUM_THREADS": "2"}


@dataclass(frozen=True)
class Recipe:
    """How a recording is made. tree: its sources. rate: samples a second. library: source of one it calls.

    ranks: how many, of a program that uses MPI.
    """

    tree: Path
    source: str
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    interval: str = "0.1"
    rate: str = "250"
    env: dict[str, str] = field(default_factory=dict)
    pg: bool = True
    library: str = ""
    ranks: int = 0

    @property
    def compiler(self) -> str:
        """The compiler of its language."""
        return "mpicc.mpich" if self.ranks else COMPILERS[Path(self.source).suffix]

    @property
    def digest(self) -> str:
        """The sum of its source, by which it is seen that a recording has become old."""
        return hashlib.sha256((self.tree / self.source).read_bytes()).hexdigest()


RECIPES = {
    "phases": Recipe(EXAMPLES, "phases.c", ("0.5",)),
    "phases-without-pg": Recipe(EXAMPLES, "phases.c", ("0.5",), pg=False),
    "mesh": Recipe(EXAMPLES, "mesh.cpp", ("0.5",), ("-std=c++17",)),
    "heat": Recipe(EXAMPLES, "heat.f90", ("0.6",)),
    "omp": Recipe(EXAMPLES, "omp.c", ("2",), OPENMP, env=TWO_THREADS),
    "stages": Recipe(STAGES, "stages.c", ("3000",)),
    "swarm": Recipe(STAGES, "stages.c", ("8000", "w"), interval="0.02"),
    "tight": Recipe(STAGES, "stages.c", ("2000", "t"), interval="0.02"),
    "templates": Recipe(STAGES, "templates.cpp", ("300",)),
    "sorted": Recipe(TEXTS, "sorted.c"),
    "steps": Recipe(TEXTS, "steps.c", (), OPENMP, interval="0.02", env=TWO_THREADS),
    "rows": Recipe(TEXTS, "rows.c", (), OPENMP, interval="0.02", env=TWO_THREADS),
    "region": Recipe(TEXTS, "region.c", (), OPENMP, interval="0.05", env={**TWO_THREADS, "OMP_WAIT_POLICY": "passive"}),
    "timesteps": Recipe(FIXTURES, "timesteps.c", ("200", "100"), interval="0.2", rate="1000"),
    "timesteps-slow": Recipe(FIXTURES, "timesteps.c", ("200", "100"), interval="0.2", rate="100"),
    "nested-wrapped": Recipe(FIXTURES, "nested.c", ("wrapped", "250"), interval="0.2"),
    "nested-setup": Recipe(FIXTURES, "nested.c", ("setup", "300"), interval="0.2"),
    "nested-sweeps": Recipe(FIXTURES, "nested.c", ("sweeps", "60"), interval="0.2"),
    "nested-drivers": Recipe(FIXTURES, "nested.c", ("drivers", "150"), interval="0.2"),
    "nested-callers": Recipe(FIXTURES, "nested.c", ("callers", "200"), interval="0.2"),
    "nested-fortran": Recipe(FIXTURES, "nested.f90", ("100",), ("-fno-inline",), interval="0.2"),
    "path-sites-O2": Recipe(FIXTURES, "path_sites.cpp", interval="0.05", rate="1000"),
    "path-sites-O3": Recipe(FIXTURES, "path_sites.cpp", (), ("-O3",), interval="0.05", rate="1000"),
    "balance": Recipe(HOSTS, "balance.c", ranks=3),
    "libcalls": Recipe(FIXTURES, "libcalls.c", interval="0.2", library="libcalls_lib.c"),
}


def make(name: str, recipe: Recipe) -> None:
    """Compile, record, pack. The source lies in a directory that the program's debug information names otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        build = [recipe.compiler, "-O2", "-g", *(["-pg"] if recipe.pg else []), *recipe.flags]
        build += [f"-ffile-prefix-map={recipe.tree}={PLACE}", "-Wl,--build-id"]
        sources = [recipe.tree / recipe.source]
        if recipe.library:
            shared = [*build, "-fPIC", "-shared", recipe.tree / recipe.library, "-o", place / LIBRARY]
            subprocess.run([word for word in shared if word != "-pg"], check=True)
            sources += [place / LIBRARY, f"-Wl,-rpath,{place}"]
        subprocess.run([*build, *sources, "-o", place / "program", "-lm"], cwd=place, check=True)
        record = [*INCPROF, "record", "-i", recipe.interval, "-r", recipe.rate, "-o", place / "run"]
        env = {**os.environ, **recipe.env, "PYTHONPATH": str(ROOT)}
        launch = ["mpirun.mpich", "-n", str(recipe.ranks)] if recipe.ranks else []
        words = [*record, "--", *launch, place / "program", *recipe.arguments]
        said = subprocess.run(words, cwd=place, env=env, check=True, stdout=subprocess.PIPE).stdout
        others = {"source": recipe.digest.encode(), "stdout": said}
        if recipe.library:
            others[LIBRARY] = (place / LIBRARY).read_bytes()
        pack(place / "run", HERE / f"{name}.tar.xz", program=place / "program", others=others)


def make_beating(name: str, example: Beating) -> None:
    """Compile with heartbeats, record, run once more as in production, pack."""
    compiler = COMPILERS[Path(example.source).suffix]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / example.source).write_text(example.text)
        before, after = (
            subprocess.run([*INCPROF, "env", flag], capture_output=True, text=True, check=True).stdout.split()
            for flag in (example.flags, "--libs")
        )
        for target, flags in (("app", ["-pg", "-Wl,--build-id"]), ("production", [])):
            build = [compiler, "-O2", *flags, *before, example.source, "-o", target, *after, "-lm"]
            subprocess.run(build, cwd=place, check=True)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "EKG_DIR": "ekg", "EKG_INTERVAL": "0.07"}
        record = [*INCPROF, "record", "-i", "0.1", "-o", "run", "--", "./app", example.scale]
        subprocess.run(record, cwd=place, env=env, check=True)
        again = {**env, "EKG_DIR": "ekg-production", "EKG_INTERVAL": "0.05"}
        subprocess.run(["./production", example.scale], cwd=place, env=again, check=True)
        pack(place / "run", HERE / f"{name}.tar.xz", beats=[place / "ekg", place / "ekg-production"])


def main(names: list[str]) -> int:
    """Make some of them, or all."""
    for name in names or (*RECIPES, *BEATING):
        if name in BEATING:
            make_beating(name, BEATING[name])
        else:
            make(name, RECIPES[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
