"""Which MPI a traced call goes to: the one that its caller sees, even if others see another; and none without MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.record import launch
from tests.integration.mpi_traces import FIXTURES, INCPROF, Mpi, events_of, mpis, run, sequence

OWN = "incprof trace"


def plain(built: Path, source: str) -> Path:
    """A program that is built without an MPI."""
    program = built / Path(source).stem
    if not program.exists():
        subprocess.run(["gcc", "-g", "-O1", FIXTURES / source, "-o", program, "-ldl"], check=True)
    return program


def plugin(mpi: Mpi, source: str = "plugin.c", name: str = "plugin", *flags: str) -> Path:
    """A library that is linked with an MPI."""
    library = mpi.built / f"{name}-{mpi.name}.so"
    if not library.exists():
        compiler = f"mpicc.{mpi.name}" if source.endswith(".c") else f"mpif90.{mpi.name}"
        command = [compiler, "-g", "-O2", "-fPIC", "-shared", *flags, FIXTURES / source, "-o", library]
        subprocess.run(command, check=True)
    return library


def lines_of_ours(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if OWN in line and "show it with: " not in line]


def test_fortran_in_a_module_that_only_python_sees(mpi: Mpi, tmp_path: Path) -> None:
    code = """
import ctypes, sys
total, error = ctypes.c_int(-1), ctypes.c_int(-1)
ctypes.CDLL(sys.argv[1]).work_(ctypes.byref(total), ctypes.byref(error))
print(total.value, error.value, flush=True)
"""
    library = plugin(mpi, "plugin_fortran.f90", "fortran")
    outcome = mpi.trace(2, sys.executable, "-c", code, library, cwd=tmp_path)
    # Lines of two ranks may come out in one.
    assert (outcome.returncode, sorted("".join(outcome.stdout.split()))) == (0, ["0", "0", "3", "3"]), outcome
    for events in events_of(tmp_path / "run").values():
        assert sequence(events) == ["Allreduce 4"]
        (site,) = [event.call.site for event in events if event.call.function == "Allreduce"]
        assert site is not None
        assert site.module == str(library)


def test_a_plugin_that_is_loaded_again_elsewhere(mpi: Mpi, tmp_path: Path) -> None:
    """Also a function that calls MPI last: its caller sees no MPI."""
    one, two = plugin(mpi), plugin(mpi, name="second")
    steps = [f"{one}:init,work", *[f"{two}:work,last,-,+"] * 2, f"{two}:work,last", f"{one}:finalize"]
    outcome = mpi.trace(2, plain(mpi.built, "plugins.c"), *steps, cwd=tmp_path)
    assert outcome.returncode == 0, outcome
    assert outcome.stdout.count("3") == 8
    for events in events_of(tmp_path / "run").values():
        assert sequence(events) == ["Allreduce 4", *["Allreduce 4", "Barrier"] * 3]


def test_libraries_that_lie_at_one_address_one_after_the_other(mpi: Mpi, tmp_path: Path) -> None:
    """Each call is its own library's, and a library that comes again is the same."""
    kept, one, two = (plugin(mpi, name=name) for name in ("plugin", "first", "second"))
    steps = [f"{kept}:init", *[f"{library}:work,-" for library in (one, two, one)], f"{kept}:finalize"]
    outcome = run([*INCPROF, "trace", "-o", tmp_path / "run", "--", plain(mpi.built, "plugins.c"), *steps], tmp_path)
    assert (outcome.returncode, outcome.stdout.split()) == (0, ["0", "1", "1", "1", "0"]), outcome
    sites = [event.call.site for event in events_of(tmp_path / "run")[0][1:-1]]
    assert [site and Path(site.module).name for site in sites] == [library.name for library in (one, two, one)]
    assert len({id(site) for site in sites}) == 2


def test_an_mpi_that_goes_and_comes_again(mpi: Mpi, tmp_path: Path) -> None:
    """It is started anew, as without us; the first one is traced."""
    steps = [f"{plugin(mpi)}:init,work,finalize,-", f"{plugin(mpi)}:init,work,finalize"]
    outcome = run([*INCPROF, "trace", "-o", tmp_path / "run", "--", plain(mpi.built, "plugins.c"), *steps], tmp_path)
    assert (outcome.returncode, outcome.stdout.split()) == (0, ["0", "1", "0"] * 2), outcome
    (line,) = lines_of_ours(outcome.stderr)
    assert "a second MPI in this process: its calls are not traced: " in line
    assert sequence(events_of(tmp_path / "run")[0]) == ["Allreduce 4"]


@pytest.mark.slow
def test_two_mpis_in_one_process(built: Path, tmp_path: Path) -> None:
    """Each library's calls go to its own; the first one's are traced."""
    both = mpis(built)
    if any(shutil.which(f"mpicc.{mpi.name}") is None for mpi in both):
        pytest.skip("needs both MPIs")
    one, two = (plugin(mpi, "plugin.c", "framed", "-fno-optimize-sibling-calls") for mpi in both)
    steps = [
        f"{one}:idle",
        f"{two}:idle",
        f"{one}:init,work",
        f"{two}:init,work",
        f"{one}:work",
        f"{two}:work,finalize",
        f"{one}:finalize",
    ]
    words = [plain(built, "plugins.c"), *steps]
    alone = run(words, tmp_path)
    outcome = run([*INCPROF, "trace", "-o", tmp_path / "run", "--", *words], tmp_path)
    assert (
        (outcome.returncode, outcome.stdout)
        == (alone.returncode, alone.stdout)
        == (0, "0\n0\n0\n1\n0\n1\n1\n1\n0\n0\n")
    )
    (line,) = lines_of_ours(outcome.stderr)
    assert "a second MPI in this process: its calls are not traced: " in line
    assert sequence(events_of(tmp_path / "run")[0]) == ["Allreduce 4"] * 2


SONAMES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}


def test_an_mpi_that_is_looked_up(mpi: Mpi, tmp_path: Path) -> None:
    """By dlopen and dlsym, as ctypes and MPI.jl do: no object is linked with it."""
    words = [plain(mpi.built, "looked_up.c"), ctypes_path(SONAMES[mpi.name])]
    outcome = mpi.trace(2, *words, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "1 1 1 1\n" * 2), outcome
    assert lines_of_ours(outcome.stderr) == []
    found = events_of(tmp_path / "run")
    assert {rank: [event.call.function for event in events] for rank, events in found.items()} == {
        rank: ["Init", "Finalize"] for rank in range(2)
    }


@pytest.mark.slow
def test_one_of_two_mpis_that_is_looked_up(mpi: Mpi, tmp_path: Path) -> None:
    """It is the requested one; a line reports that it is not traced."""
    if any(shutil.which(f"mpicc.{name}") is None for name in SONAMES):
        pytest.skip("needs both MPIs")
    libraries = sorted(SONAMES.values(), key=lambda soname: soname != SONAMES[mpi.name])
    words = [plain(mpi.built, "looked_up.c"), *map(ctypes_path, libraries)]
    outcome = mpi.trace(1, *words, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "1 1 1 1\n"), outcome
    (line,) = lines_of_ours(outcome.stderr)
    assert "one of several MPIs in this process was looked up by dlsym: its calls are not traced" in line


MPI4PY = """
import os, sys
how = sys.argv[1]
if how == "global":
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
if how == "explicit":
    import mpi4py
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI
if how == "explicit":
    MPI.Init()
print(MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1), flush=True)
if how == "explicit":
    MPI.Finalize()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["plain", "global", "explicit"])
def test_mpi4py(mpi: Mpi, tmp_path: Path, how: str) -> None:
    """It looks up by name whether there is an MPI, which one it is, and which functions it has."""
    pytest.importorskip("mpi4py")
    if mpi.name == "mpich":
        (tmp_path / "libmpi.so.12").symlink_to(ctypes_path("libmpich.so.12"))
    paths = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    words = [sys.executable, "-c", MPI4PY, how]
    if run(mpi.launch(2, *words), tmp_path, LD_LIBRARY_PATH=paths).stdout.count("3") != 2:
        pytest.skip("mpi4py does not run with this MPI")
    outcome = mpi.trace(2, *words, cwd=tmp_path, LD_LIBRARY_PATH=paths)
    assert (outcome.returncode, outcome.stdout.count("3")) == (0, 2), outcome
    assert lines_of_ours(outcome.stderr) == []
    found = [event.call.function for event in events_of(tmp_path / "run")[0]]
    assert (found[0], found[-1]) == ("Init_thread", "Finalize") or found[0] == "Init"
    assert "Send" in found or "Recv" in found or "Allreduce" in found


def ctypes_path(soname: str) -> str:
    """Where the loader finds a library."""
    shown = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    return next(line.split(" => ")[1] for line in shown.splitlines() if line.strip().startswith(soname))


def serial(tmp_path: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    library = launch.find_mpi_library(os.environ)
    return run([*words], tmp_path, LD_PRELOAD=str(library), INCPROF_TRACE_MPI="")


def test_a_serial_program_that_is_linked_with_mpi_weakly(built: Path, tmp_path: Path) -> None:
    """It finds all of MPI, each call fails, and a line gives the reason."""
    outcome = serial(tmp_path, plain(built, "weak.c"))
    assert (outcome.returncode, outcome.stdout) == (0, "1 0 0 of 1 1 0.0 no MPI is loaded\n")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("incprof trace: MPI_Init fails, as no MPI is loaded: ")


def test_a_library_that_is_linked_with_mpi_weakly(built: Path, tmp_path: Path) -> None:
    """It finds all of MPI, each call fails, and a line gives the reason."""
    library = tmp_path / "libweak.so"
    sources = [FIXTURES / "weak.c", "-shared", "-fPIC", "-Dmain=run", "-o", library]
    subprocess.run(["gcc", "-O2", *sources], check=True)
    text = "int run(int, char **);\nint main(int count, char **words)\n{\n    return run(count, words);\n}\n"
    words = ["gcc", "-x", "c", "-", "-x", "none", library, f"-Wl,-rpath,{tmp_path}", "-o", tmp_path / "program"]
    subprocess.run(words, input=text, text=True, check=True)
    outcome = serial(built, tmp_path / "program")
    assert (outcome.returncode, outcome.stdout) == (0, "1 0 0 of 1 1 0.0 no MPI is loaded\n")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("incprof trace: MPI_Init fails, as no MPI is loaded: ")


def test_a_serial_program_that_looks_up_mpi_in_the_loader(tmp_path: Path) -> None:
    """It finds nothing, also after it has loaded libraries."""
    code = """
import ctypes, resource
def found():
    return [hasattr(ctypes.CDLL(None), name) for name in ("MPI_Init", "PMPI_Init", "MPI_Comm_rank", "mpi_init_")]
print(any(found()), end=" ")
ctypes.CDLL("libm.so.6").cos
print(any(found()))
"""
    outcome = serial(tmp_path, sys.executable, "-c", code)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "False False\n", "")


def test_every_function_of_mpi_is_defined(mpi: Mpi) -> None:
    """A program that finds one finds all."""
    passed = ("_FN", "_FN_NULL", "_F90")  # only given to MPI, or Fortran's
    soname = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[mpi.name]
    shown = subprocess.run(["nm", "-D", "--defined-only", ctypes_path(soname)], capture_output=True, text=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    wanted = {row[2] for row in rows if row[1] in "TW" and row[2].startswith(("MPI_", "PMPI_"))}
    own = launch.find_mpi_library(os.environ)
    shown = subprocess.run(["nm", "-D", "--defined-only", own], capture_output=True, text=True).stdout
    defined = {line.split()[-1] for line in shown.splitlines()}
    assert {name for name in wanted if not name.endswith(passed)} - defined == set()


@pytest.mark.slow
def test_what_a_program_spawns(built: Path, tmp_path: Path) -> None:
    """The launcher starts it, unaware of a tracer behind it."""
    mpi = mpis(built)[0]  # MPICH's launcher of Debian spawns nothing
    program = mpi.build("spawns.c")
    outcome = mpi.trace(1, program, cwd=tmp_path)
    assert (outcome.returncode, sorted(outcome.stdout.split())) == (0, ["child", "child", "parent"])
    (line,) = lines_of_ours(outcome.stderr)
    assert "programs that MPI_Comm_spawn started are traced only if incprof trace precedes the launcher" in line
    shutil.rmtree(tmp_path / "run")
    outcome = run([*INCPROF, "trace", "-o", tmp_path / "run", "--", *mpi.launch(1, program)], tmp_path)
    assert outcome.returncode == 0
    assert [len(events_of(tmp_path / name)) for name in ("run", "run.1")] == [1, 2]
