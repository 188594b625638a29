"""Find libincprof.so, build the environment in which a program is recorded, and become that program.

Runs on login and compute nodes before every run: it imports nothing but the standard library.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from incprof.errors import IncprofError
from incprof.record.settings import resolve
from incprof.safe import installation
from incprof.safe.inputs import open_input
from incprof.safe.printable import say

LIBRARY = "libincprof.so"
LOOP_LIBRARY = "libincprof_omp.so"
MPI_LIBRARY = "libincprof_mpi.so"
IO_LIBRARY = "libincprof_io.so"
MEMORY_LIBRARY = "libincprof_memory.so"
GPU_LIBRARY = "libincprof_cuda.so"
HIP_LIBRARY = "libincprof_hip.so"
OPENCL_LIBRARY = "libincprof_opencl.so"
OPENMP_LIBRARY = "libincprof_openmp.so"
SAMPLER = "incprof-sampler"
ATTACHER = "incprof-attach"
SHELL = "/bin/sh"
BUILT_IN = {
    LIBRARY: "preload", LOOP_LIBRARY: "selfanalyze", MPI_LIBRARY: "trace", IO_LIBRARY: "io", MEMORY_LIBRARY: "memory",
    GPU_LIBRARY: "gpu", HIP_LIBRARY: "gpu", OPENCL_LIBRARY: "gpu", OPENMP_LIBRARY: "gpu",
    SAMPLER: "outside", ATTACHER: "outside",
}  # fmt: skip


def candidates(library: str) -> Iterator[Path]:
    """Yield places where an installation may have put a library, the nearest first."""
    return installation.candidates(library, BUILT_IN[library])


def find_library(environ: Mapping[str, str]) -> Path:
    """Return the path of libincprof.so: $INCPROF_LIB if set, else where this package was installed."""
    return installation.find_library(LIBRARY, BUILT_IN[LIBRARY], "INCPROF_LIB", environ)


def find_loop_library(environ: Mapping[str, str]) -> Path:
    """Return the path of libincprof_omp.so: beside libincprof.so if that was found, else of this installation."""
    return _find_library(LOOP_LIBRARY, environ)


def find_mpi_library(environ: Mapping[str, str]) -> Path:
    """Return the path of libincprof_mpi.so, likewise."""
    return _find_library(MPI_LIBRARY, environ)


def wrapper_sources(library: Path) -> Path:
    """Return the directory of the sources that are compiled for each MPI; `library` is libincprof_mpi.so.

    Raises: IncprofError if it does not exist.
    """
    place = library.parent / "incprof_mpi"
    if (place / "wrappers.c").is_file():
        return place
    raise IncprofError(f"{place} was not found; install incprof again")


def _find_library(library: str, environ: Mapping[str, str]) -> Path:
    siblings = [Path(environ["INCPROF_LIB"]).absolute().parent / library] if environ.get("INCPROF_LIB") else []
    for path in [*siblings, *candidates(library)]:
        if path.is_file():
            return path
    raise IncprofError(f"{library} was not found; install incprof again")


def find_sampler(environ: Mapping[str, str]) -> Path:
    """Return the path of incprof-sampler: $INCPROF_SAMPLER if set, else where this package was installed."""
    return _find_tool(SAMPLER, environ.get("INCPROF_SAMPLER"))


def find_attacher(environ: Mapping[str, str]) -> Path:
    """Return the path of incprof-attach: $INCPROF_ATTACH if set, else where this package was installed."""
    return _find_tool(ATTACHER, environ.get("INCPROF_ATTACH"))


def _find_tool(name: str, named: str | None) -> Path:
    overrides = [Path(named).absolute()] if named else []
    for path in overrides or candidates(name):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise IncprofError(
        f"{overrides[0] if overrides else name} was not found, or is not a program; install incprof again"
    )


def preload_value(library: Path, existing: str) -> str:
    """Return the value of LD_PRELOAD: the library first, then the libraries preloaded already."""
    path = str(library)
    if any(separator in path for separator in " :\t\n"):
        raise IncprofError(
            f"{path!r} holds a space or a colon, which LD_PRELOAD cannot express; "
            f"copy the library elsewhere and set INCPROF_LIB to the copy"
        )
    others = [entry for entry in existing.replace(" ", ":").split(":") if entry and entry != path]
    return ":".join([path, *others])


def layers_value(library: Path, existing: str) -> str:
    """Return the value of OPENCL_LAYERS or OMP_TOOL_LIBRARIES: the user's entries, then the library."""
    path = str(library)
    others = [entry for entry in existing.split(":") if entry and entry != path]
    # A colon in the path cannot be expressed; the loader would load something else.
    return ":".join(others if ":" in path else [*others, path])


def tools_value(library: Path, existing: str) -> str:
    """Return the value of ROCP_TOOL_LIBRARIES: the user's tools, then the library.

    rocprofiler-sdk drops the last of several that no colon follows.
    """
    value = layers_value(library, existing)
    return f"{value}:" if ":" in value else value


def find_rocprofiler(environ: Mapping[str, str]) -> str | None:
    """Return the path of librocprofiler-sdk.so, if the loader finds it by its name; else None.

    A program that uses ROCm aborts if ROCP_TOOL_LIBRARIES is set and the library is not found.
    """
    for directory in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if directory and os.path.isfile(path := os.path.join(directory, ROCPROFILER)):
            return path
    try:
        with open_input(LOADER_CACHE) as file:
            cache = file.read(MOST_CACHE_BYTES)
    except OSError:
        return None
    end = cache.find(f"/{ROCPROFILER}\0".encode()) + 1 + len(ROCPROFILER)
    if end <= len(ROCPROFILER):
        return None
    path = os.fsdecode(cache[cache.rfind(b"\0", 0, end) + 1 : end])
    return path if os.path.isfile(path) else None


NOT_EXECUTABLE, NOT_FOUND = 126, 127


def find_program(name: str) -> str | None:
    """Return the file of a program, as a shell finds it; None, after a message, if there is none."""
    # A bare name is searched in PATH only: execve would also run a file of that name from the current directory.
    program = name if "/" in name else shutil.which(name)
    if program is None:
        say(f"{name}: command not found")
    return program


def become(program: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Replace this process by a command's program; return the shell's exit status, after a message, if that fails."""
    try:
        replace_process(program, list(command), environment)
    except FileNotFoundError:
        missing = "its interpreter was not found" if os.path.exists(program) else "command not found"
        say(f"{command[0]}: {missing}")
        return NOT_FOUND
    except OSError as error:
        say(f"{command[0]}: cannot be run: {error.strerror}")
        return NOT_EXECUTABLE


def replace_process(program: str, words: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program that inherits nothing of Python: no unwritten output, no ignored signals.

    The shell runs a script without `#!`, as execvp does.

    Raises:
        OSError: the program cannot be run; this process is unchanged.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    # The program would inherit the signals that Python ignores.
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


# The program of a command is recorded even if it was built without -pg, unless INCPROF_EXE names others.
PROGRAM = "INCPROF_PROGRAM"

# No message on the end of the recording was printed yet: the first recorded process not started by another prints it.
CLOSING_LINE = {"INCPROF_CLOSING_LINE": "0" * 10}


# Libraries preloaded beside libincprof.so, by the variable that asks for each.
EXTENSIONS = {"INCPROF_IO": IO_LIBRARY, "INCPROF_MEMORY": MEMORY_LIBRARY}
# The CUDA driver loads the library that this variable names.
INJECTION = "CUDA_INJECTION64_PATH"
# OpenCL's loader loads the libraries of this list, each of which sees the calls before those named earlier.
LAYERS = "OPENCL_LAYERS"
# OpenMP's run-time takes the first tool in the libraries of this list.
OPENMP_TOOLS = "OMP_TOOL_LIBRARIES"
# rocprofiler-sdk loads the libraries of this list when a program initialises ROCm.
TOOLS = "ROCP_TOOL_LIBRARIES"
ROCPROFILER = "librocprofiler-sdk.so"
LOADER_CACHE, MOST_CACHE_BYTES = "/etc/ld.so.cache", 16 << 20


def recording_variables(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables, name to value, that make a program record itself."""
    variables = resolve(flags, environ)
    if variables.get("INCPROF_GPU_TRACE", "0") != "0":
        variables["INCPROF_GPU"] = "1"
    preload = environ.get("LD_PRELOAD", "")
    for name, library in EXTENSIONS.items():
        if variables.get(name, "0") != "0":
            preload = preload_value(_find_library(library, environ), preload)
    if variables.get("INCPROF_GPU", "0") != "0":
        if not environ.get(INJECTION):
            variables[INJECTION] = str(_find_library(GPU_LIBRARY, environ))
        for name, library in ((LAYERS, OPENCL_LIBRARY), (OPENMP_TOOLS, OPENMP_LIBRARY)):
            variables[name] = layers_value(_find_library(library, environ), environ.get(name, ""))
        if environ.get(TOOLS) or find_rocprofiler(environ):
            variables[TOOLS] = tools_value(_find_library(HIP_LIBRARY, environ), environ.get(TOOLS, ""))
    return {"LD_PRELOAD": preload_value(find_library(environ), preload), **variables}


JOB_NAMES = ("SLURM_JOB_ID", "FLUX_JOB_ID", "LSB_JOBID", "PBS_JOBID")  # as in runtime/launch.c


def directory_variable(name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variable for the run directory of a recording.

    name: of the program, for the default. environ: with the settings of the recording.
    """
    job = next((environ[name] for name in JOB_NAMES if environ.get(name)), None)
    default = f"gmon-{name}" + (f"-{job}" if job else "")
    return {"INCPROF_DIR": os.path.abspath(environ.get("INCPROF_DIR") or default)}


def job_variables(name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that make all processes of a job record themselves into one run directory.

    Ranks that are each started by an incprof of their own share the launcher's identifier of this launch.
    name: of the program, for the default name of the directory. environ: with the settings of the recording.
    """
    own = "" if launcher_rank(environ) is not None else f"{os.getpid()}@{time.time_ns()}"
    return directory_variable(name, environ) | {"INCPROF_LAUNCH": f"{own}+{_cpu_time_ns()}"}


def _cpu_time_ns() -> int:
    """Return the CPU time of this process, and of the children that it had before it became incprof."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + round(1e9 * (children.ru_utime + children.ru_stime))


# As in runtime/launch.c.
RANK_NAMES = (
    "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK",
    "JSM_NAMESPACE_RANK", "ALPS_APP_PE",
)  # fmt: skip


def launcher_rank(environ: Mapping[str, str]) -> int | None:
    """Return the rank that a launcher gave this process; None without one."""
    names = (*RANK_NAMES, "SLURM_PROCID") if "SLURM_STEP_ID" in environ else RANK_NAMES
    for name in names:
        if environ.get(name, "").isdecimal():
            return int(environ[name])
    return None


SIZE_NAMES = (
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE", "FLUX_JOB_SIZE", "JSM_NAMESPACE_SIZE",
)  # fmt: skip


def launcher_size(environ: Mapping[str, str]) -> int | None:
    """Return the number of ranks that a launcher started; None if it does not publish it."""
    in_step = "SLURM_STEP_ID" in environ
    names = (*SIZE_NAMES, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS") if in_step else SIZE_NAMES
    return next((int(environ[name]) for name in names if environ.get(name, "").isdecimal()), None)
