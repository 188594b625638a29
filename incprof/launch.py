"""Finds libincprof.so and builds the environment in which a program is recorded.

Used on login and compute nodes before every run: nothing but the standard library is imported.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from incprof.config import resolve
from incprof.errors import IncprofError

LIBRARY = "libincprof.so"
LOOP_LIBRARY = "libincprof_omp.so"
MPI_LIBRARY = "libincprof_mpi.so"
SAMPLER = "incprof-sampler"
ATTACHER = "incprof-attach"
SHELL = "/bin/sh"
BUILT_IN = {
    LIBRARY: "preload", LOOP_LIBRARY: "selfanalyze", MPI_LIBRARY: "trace", SAMPLER: "sampler", ATTACHER: "attach",
}  # fmt: skip


def candidates(library: str = LIBRARY) -> Iterator[Path]:
    """Places where an installation may have put a library, the nearest first."""
    package = Path(__file__).resolve().parent
    yield package / "_lib" / library
    # An editable installation keeps the package in the checkout and the library in site-packages.
    for entry in sys.path:
        if entry:
            yield Path(entry) / "incprof" / "_lib" / library
    # Built or installed by plain CMake.
    yield package.parent / "build" / BUILT_IN[library] / library
    machine = os.uname().machine
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        for directory in ("lib", "lib64", f"lib/{machine}-linux-gnu", "bin"):
            yield Path(prefix) / directory / library


def find_library(environ: Mapping[str, str]) -> Path:
    """Path of libincprof.so: $INCPROF_LIB if set, else where this package was installed."""
    given = environ.get("INCPROF_LIB")
    if given:
        if not os.path.isfile(given):
            raise IncprofError(f"INCPROF_LIB={given}: no such file; unset it, or set it to the path of {LIBRARY}")
        return Path(os.path.abspath(given))
    for path in candidates():
        if path.is_file():
            return path
    raise IncprofError(f"{LIBRARY} was not found; install incprof again, or set INCPROF_LIB to its path")


def find_loop_library(environ: Mapping[str, str]) -> Path:
    """Path of libincprof_omp.so: beside libincprof.so if that was found, else where this package was installed."""
    return _find_beside(LOOP_LIBRARY, environ)


def find_mpi_library(environ: Mapping[str, str]) -> Path:
    """Path of libincprof_mpi.so, likewise."""
    return _find_beside(MPI_LIBRARY, environ)


def wrapper_sources(library: Path) -> Path:
    """The directory of what is compiled for each MPI; `library` is libincprof_mpi.so.

    Raises: IncprofError when it is not there.
    """
    place = library.parent / "incprof_mpi"
    if (place / "wrappers.c").is_file():
        return place
    raise IncprofError(f"{place} was not found; install incprof again")


def _find_beside(library: str, environ: Mapping[str, str]) -> Path:
    beside = [Path(environ["INCPROF_LIB"]).absolute().parent / library] if environ.get("INCPROF_LIB") else []
    for path in [*beside, *candidates(library)]:
        if path.is_file():
            return path
    raise IncprofError(f"{library} was not found; install incprof again")


def find_sampler(environ: Mapping[str, str]) -> Path:
    """Path of incprof-sampler: $INCPROF_SAMPLER if set, else where this package was installed."""
    return _find_program(SAMPLER, environ.get("INCPROF_SAMPLER"))


def find_attacher(environ: Mapping[str, str]) -> Path:
    """Path of incprof-attach: $INCPROF_ATTACH if set, else where this package was installed."""
    return _find_program(ATTACHER, environ.get("INCPROF_ATTACH"))


def _find_program(name: str, named: str | None) -> Path:
    given = [Path(named).absolute()] if named else []
    for path in given or candidates(name):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise IncprofError(f"{given[0] if given else name} was not found, or is no program; install incprof again")


def preload_value(library: Path, existing: str) -> str:
    """What LD_PRELOAD must be: the library first, then what is preloaded already."""
    path = str(library)
    if any(separator in path for separator in " :\t\n"):
        raise IncprofError(
            f"{path!r} holds a space or a colon, which LD_PRELOAD cannot express; "
            f"copy the library elsewhere and set INCPROF_LIB to the copy"
        )
    others = [entry for entry in existing.replace(" ", ":").split(":") if entry and entry != path]
    return ":".join([path, *others])


def become(program: str, words: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program, and leave it nothing of Python: no unwritten output, no ignored signals.

    A script without `#!` is run by the shell, as execvp does.

    Raises:
        OSError: the program cannot be run; this process is what it was.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # What Python ignores for itself, the program would ignore too.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        try:
            os.execve(program, words, environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execve(SHELL, [SHELL, program, *words[1:]], environment)
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


# The program that a command is about: recorded also if it was built without -pg, unless INCPROF_EXE names others.
PROGRAM = "INCPROF_PROGRAM"

# Nobody has said yet how the recording ended: whoever is recorded first, and is not started by one that is, does.
CLOSING_LINE = {"INCPROF_CLOSING_LINE": "0" * 10}


def recording_variables(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables, name to value, that make a program record itself."""
    library = find_library(environ)
    preload = preload_value(library, environ.get("LD_PRELOAD", ""))
    return {"LD_PRELOAD": preload, **resolve(flags, environ)}


JOB_NAMES = ("SLURM_JOB_ID", "FLUX_JOB_ID", "LSB_JOBID", "PBS_JOBID")  # as in runtime/launch.c


def job_variables(program: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that make all processes of a job record themselves into one run directory.

    Ranks, each of which is started by an incprof of its own, share what their launcher calls this launch.

    Args:
        program: path of the program that the default name of the directory is made of.
        environ: with the settings of the recording.
    """
    job = next((environ[name] for name in JOB_NAMES if environ.get(name)), None)
    name = f"gmon-{os.path.basename(program)}" + (f"-{job}" if job else "")
    own = "" if launcher_rank(environ) is not None else f"{os.getpid()}@{time.time_ns()}"
    return {
        "INCPROF_DIR": os.path.abspath(environ.get("INCPROF_DIR") or name),
        "INCPROF_LAUNCH": f"{own}+{_spent_ns()}",
    }


def _spent_ns() -> int:
    """CPU time of this process, and of the children that it had before it was incprof."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + round(1e9 * (children.ru_utime + children.ru_stime))


# As runtime/launch.c has them.
RANK_NAMES = (
    "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK",
    "JSM_NAMESPACE_RANK", "ALPS_APP_PE",
)  # fmt: skip


def launcher_rank(environ: Mapping[str, str]) -> int | None:
    """The rank that a launcher has given this process; None where none has."""
    names = (*RANK_NAMES, "SLURM_PROCID") if "SLURM_STEP_ID" in environ else RANK_NAMES
    for name in names:
        if environ.get(name, "").isdecimal():
            return int(environ[name])
    return None


SIZE_NAMES = (
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE",
)  # fmt: skip


def launcher_size(environ: Mapping[str, str]) -> int | None:
    """The number of ranks that a launcher has started; None where it does not tell."""
    in_step = "SLURM_STEP_ID" in environ
    names = (*SIZE_NAMES, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS") if in_step else SIZE_NAMES
    return next((int(environ[name]) for name in names if environ.get(name, "").isdecimal()), None)
