"""MPI programs whose run time `predictions` predicts: those of examples/mpi, and programs of Debian's packages.

Nothing is installed: packages are unpacked in the scratch folder, unless the system has the program.
"""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UNAVAILABLE = 77  # exit status of common.sh where a package cannot be fetched


class NotAvailable(Exception):
    """The program is not available here; the reason in one line."""


@dataclass(frozen=True)
class Prepared:
    """A program that is ready to run.

    Attributes:
        command: Of one rank, given the amount of work.
        directory: Its working directory.
        libraries: Directories for LD_LIBRARY_PATH.
    """

    command: Callable[[int], list[str]]
    directory: Path
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """A program and the relation between its work and its run time.

    Attributes:
        name: For `--only` and in the table.
        about: A short description; `{amount}` is the amount of work.
        prepare: Build or fetch it in a scratch folder, for an MPI.
        start: Amount of work of the first trial run.
        power: Run time is about proportional to this power of the amount.
        mpis: MPIs for which it is available.
    """

    name: str
    about: str
    prepare: Callable[[Path, str], Prepared]
    start: int
    power: float
    mpis: tuple[str, ...] = ("openmpi", "mpich")


def _example(program: str, *arguments: str) -> Callable[[Path, str], Prepared]:
    """Return a program of examples/mpi; `{}` among its arguments is the amount of work."""

    def prepare(scratch: Path, mpi: str) -> Prepared:
        build = scratch / "examples" / mpi
        for compiler in (f"mpicc.{mpi}", f"mpif90.{mpi}"):
            if shutil.which(compiler) is None:
                raise NotAvailable(f"{compiler} is not installed")
        compilers = [f"MPICC=mpicc.{mpi}", f"MPIF90=mpif90.{mpi}", f"BUILD={build}"]
        subprocess.run(["make", "-s", "-C", ROOT / "examples" / "mpi", *compilers], check=True)
        words = [str(build / program), *arguments]
        return Prepared(lambda amount: [word.format(amount) for word in words], build)

    return prepare


def _shell(scratch: Path, text: str) -> None:
    """Run a function of common.sh.

    Raises: NotAvailable where a package cannot be fetched.
    """
    text = f"here={shlex.quote(str(HERE))}; . {shlex.quote(str(HERE / 'common.sh'))}; {text}"
    environment = {**os.environ, "INCPROF_SCRATCH": str(scratch)}
    done = subprocess.run(["sh", "-euc", text], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.splitlines() or [f"status {done.returncode}"])[-1]
        raise NotAvailable(last.removeprefix("realworld: "))


def _packages(scratch: Path, name: str, *packages: str) -> tuple[Path, tuple[str, ...]]:
    """Unpack packages and their dependencies; return the root, and the directories of its libraries."""
    _shell(scratch, f"fetch_packages {name} {' '.join(packages)}")
    root = scratch / name / "root"
    return root, tuple(sorted({str(path.parent) for path in root.glob("usr/lib/**/*.so*")}))


def _compiled(source: Path, target: Path, flags: list[str], libraries: tuple[str, ...]) -> None:
    """Compile a C program against libraries of unpacked packages, once."""
    if target.exists():
        return
    # Dependencies of the libraries are found when the program starts.
    words: list[str | Path] = [
        "mpicc.openmpi",
        "-O2",
        "-g",
        source,
        "-o",
        target,
        *flags,
        "-lm",
        "-Wl,--allow-shlib-undefined",
    ]
    done = subprocess.run(words, env=environment(libraries), capture_output=True, text=True)
    if done.returncode != 0:
        raise NotAvailable(f"{source.name} does not compile: {(done.stderr.splitlines() or ['?'])[0]}")


def environment(libraries: tuple[str, ...]) -> dict[str, str]:
    """Return the environment of a program: one thread for each rank, and its libraries."""
    # Ranks that share processors are not bound to one of them.
    found = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }
    if libraries:
        found["LD_LIBRARY_PATH"] = ":".join([*libraries, *filter(None, [found.get("LD_LIBRARY_PATH")])])
    return found


LAMMPS = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 100
run ${steps}
"""


def _lammps(scratch: Path, _: str) -> Prepared:
    installed = shutil.which("lmp")
    libraries: tuple[str, ...] = ()
    directory = scratch / "lammps-mpi"
    if installed is None:
        root, libraries = _packages(scratch, "lammps-mpi", "lammps")
        installed = str(root / "usr/bin/lmp")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "in.melt").write_text(LAMMPS)
    words = [installed, "-in", "in.melt", "-log", "none", "-var", "steps"]
    return Prepared(lambda steps: [*words, str(steps)], directory, libraries)


SILICON = """\
&control
 calculation='md', prefix='silicon', pseudo_dir='./', outdir='./out', nstep={steps}, dt=20, disk_io='none'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=16, nosym=.true.
/
&electrons
 conv_thr=1d-8
/
&ions
/
ATOMIC_SPECIES
Si 28.086 Si.UPF
ATOMIC_POSITIONS alat
Si 0.00 0.00 0.00
Si 0.26 0.25 0.25
K_POINTS automatic
2 2 2 0 0 0
"""


def _espresso(scratch: Path, _: str) -> Prepared:
    root, libraries = _packages(scratch, "espresso", "quantum-espresso", "quantum-espresso-data")
    installed = shutil.which("pw.x") or str(root / "usr/bin/pw.x")
    directory = root.parent
    packed = next(root.glob("usr/share/doc/quantum-espresso/examples/**/Si.pz-vbc.UPF.gz"), None)
    if packed is None:
        raise NotAvailable("quantum-espresso-data has no pseudopotential of silicon")
    (directory / "Si.UPF").write_bytes(gzip.decompress(packed.read_bytes()))

    def command(steps: int) -> list[str]:
        (directory / f"in.silicon-{steps}").write_text(SILICON.format(steps=steps))
        return [installed, "-in", f"in.silicon-{steps}"]

    return Prepared(command, directory, libraries)


def _hypre(scratch: Path, _: str) -> Prepared:
    root, libraries = _packages(scratch, "hypre-dev", "libhypre-dev")
    _shell(scratch, "fetch_source hypre-tests hypre")
    sources, program = scratch / "hypre-tests/src/src/test", root.parent / "ij"
    flags = [f"-I{root}/usr/include/hypre", f"-I{sources}", f"-L{_library(root, 'libHYPRE.so').parent}", "-lHYPRE"]
    _compiled(sources / "ij.c", program, flags, libraries)
    # Conjugate gradients on a cube, with the diagonal as preconditioner: iterations grow with its side.
    words = "-n {0} {0} {0} -solver 2 -tol 1e-8 -max_iter 100000"
    return Prepared(lambda side: [str(program), *words.format(side).split()], root.parent, libraries)


def _petsc(scratch: Path, _: str) -> Prepared:
    root, libraries = _packages(scratch, "petsc", "libpetsc-real-dev", "libpetsc3.18-dev-examples")
    share = next(root.glob("usr/share/petsc/*/share/petsc/examples/src/ts/tutorials"))
    headers = next(root.glob("usr/lib/petscdir/*/*/include"))
    library = _library(root, "libpetsc_real.so.*")
    flags = [f"-I{headers}", f"-I{share.parents[5]}/include", f"-L{library.parent}", f"-l:{library.name}"]
    program = root.parent / "ex13"
    _compiled(share / "ex13.c", program, flags, libraries)
    # Heat in a square: each step is a Newton iteration with GMRES.
    words = "-da_grid_x 100 -da_grid_y 100 -ts_max_time 1e9 -ts_max_steps {0}"
    return Prepared(lambda steps: [str(program), *words.format(steps).split()], root.parent, libraries)


def _library(root: Path, pattern: str) -> Path:
    """Return a library of an unpacked package if its link leads to a file there."""
    found = [path for path in sorted(root.glob(f"usr/lib/*-linux-gnu/{pattern}")) if path.exists()]
    if not found:
        raise NotAvailable(f"{pattern} is not in the package")
    return found[0]


# Steps are those of NPB where a program represents one of its benchmarks, so that a step is the same part of the run.
PROGRAMS = (
    Program("bt", "ADI, 5 x 5 blocks, {amount}^3 points, 200 steps", _example("adi", "bt", "{}", "200"), 12, 3),
    Program("sp", "ADI, pentadiagonal, {amount}^3 points, 400 steps", _example("adi", "sp", "{}", "400"), 12, 3),
    Program("lu", "wavefronts, {amount}^3 points, 250 steps", _example("wavefront", "{}", "250"), 12, 3),
    Program("nbody", "N-body, {amount} particles, 500 steps", _example("nbody", "{}", "500"), 400, 2),
    Program("stencil", "stencil, {amount}^2 points, 2 000 steps", _example("stencil", "{}", "2000"), 200, 2),
    Program("workers", "master and workers, 5 000 tasks of {amount}", _example("workers", "{}", "5000"), 20000, 1),
    Program("lammps", "LAMMPS, 32 000 atoms, {amount} steps", _lammps, 20, 1, ("openmpi",)),
    Program("espresso", "Quantum ESPRESSO, silicon, {amount} steps", _espresso, 2, 1, ("openmpi",)),
    Program("hypre", "hypre ij, conjugate gradients, {amount}^3 points", _hypre, 30, 4, ("openmpi",)),
    Program("petsc", "PETSc ts/ex13, 100^2 points, {amount} steps", _petsc, 5, 1, ("openmpi",)),
)
