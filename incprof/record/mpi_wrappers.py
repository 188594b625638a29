"""Compile the MPI-specific part of the MPI tracer, once for each MPI that has an mpicc here.

The results lie in the user's cache, named after all their inputs: the installation is never written to, and a new
compiler, MPI or incprof gets new ones. If several processes need one at once, one of them compiles.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.record import launch
from incprof.safe.jsonstore import replacing
from incprof.safe.printable import say
from incprof.symbols.elf import ElfFile
from incprof.symbols.elf.program_file import needed_names

VARIABLE = "INCPROF_TRACE_MPI"
NAMES = ("mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi", "mpiicx", "mpiicc", "cc")
SOURCE = "wrappers.c"
# GCC takes twice as long for -O2, which saves 30 instructions of a call.
FLAGS = ("-std=gnu11", "-O1", "-fexceptions", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,--no-as-needed")
# Among the libraries that the wrappers are linked with, the MPI library.
LIBRARY = re.compile(r"lib(?:mpi|mpich|mpi_\w+|mpich_\w+)\.so[.\d]*")
NOT_ITSELF = re.compile(r"cxx|usempi|mpifh|fort")
TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Wrappers:
    """The result for one MPI compiler.

    Attributes:
        soname: of its MPI's library.
        path: the wrappers for it.
        problem: why there are none.
    """

    compiler: str
    soname: str = ""
    path: str = ""
    problem: str = ""


def wrappers_for_all(sources: Path, environ: Mapping[str, str]) -> list[Wrappers]:
    """Return the wrappers for every MPI whose compiler is found; compile them if necessary.

    sources: the directory of wrappers.c and its headers.

    Raises: IncprofError if they cannot be read.
    """
    try:
        own = b"".join(path.read_bytes() for path in sorted(sources.iterdir()) if path.suffix in (".c", ".h"))
    except OSError as error:
        raise IncprofError(f"{sources}: {error.strerror}; install incprof again") from error
    return [_wrappers(compiler, shown, sources, own, environ) for compiler, shown in _compilers(environ)]


def variable(wrappers: Sequence[Wrappers]) -> str:
    """Return the mapping of each MPI to its wrappers for the library: soname=path:... The first of a soname applies."""
    firsts: dict[str, str] = {}
    for each in wrappers:
        if each.path and ":" not in each.path:
            firsts.setdefault(each.soname, each.path)
    return ":".join(f"{soname}={path}" for soname, path in firsts.items())


def _compilers(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield MPI compilers and the command that each runs; of those with the same command, the first."""
    commands = set()
    for name in (environ.get("MPICC", ""), *NAMES):
        path = shutil.which(name, path=environ.get("PATH")) if name else None
        shown = _run([path, "-show"]) if path else None
        # A plain compiler, as cc usually is, has no such option.
        if path and shown and shown not in commands and re.search(r"(^|\s)-\S*mpi", shown):
            commands.add(shown)
            yield path, shown


def _wrappers(compiler: str, shown: str, sources: Path, own: bytes, environ: Mapping[str, str]) -> Wrappers:
    cache = Path(environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "incprof" / "mpi"
    what = "\n".join([compiler, shown, _headers(shown), _run([shown.split()[0], "--version"]) or "", *FLAGS])
    key = hashlib.sha256(own + what.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    path = cache / f"libincprof_{key}.so"  # The collector excludes files of this name from the program.
    try:
        if not path.is_file():
            cache.mkdir(parents=True, exist_ok=True)
            with open(cache / f"{key}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.is_file():
                    _compile(compiler, sources, path)
        return Wrappers(compiler, _soname(path), str(path))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        problem = f"{where}{error.strerror or error}; wrappers are compiled into {cache}: set XDG_CACHE_HOME"
        return Wrappers(compiler, problem=problem)
    except (IncprofError, NoDataError) as error:
        return Wrappers(compiler, problem=str(error))


def _compile(compiler: str, sources: Path, path: Path) -> None:
    """Compile the wrappers to `path`.

    Raises: IncprofError with the compiler's first complaint; OSError.
    """
    object_file = path.with_suffix(f".{os.getpid()}.o")
    command = [compiler, *FLAGS, f"-I{sources}", str(sources / SOURCE), "-o", str(object_file)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise IncprofError(f"cannot compile: {lines[0].strip() if lines else 'no message'}")
        with replacing(path) as file:
            file.write(object_file.read_bytes())
    except subprocess.TimeoutExpired:
        raise IncprofError(f"cannot compile: no result in {TIMEOUT_S} s") from None
    finally:
        object_file.unlink(missing_ok=True)


def _soname(path: Path) -> str:
    """Return the MPI library that the wrappers were linked with.

    Raises: IncprofError; NoDataError if the file is damaged.
    """
    for name in needed_names(ElfFile(str(path))):
        if LIBRARY.fullmatch(name) and not NOT_ITSELF.search(name):
            return name
    raise IncprofError("it links no shared MPI library; programs with a static MPI cannot be traced")


def _headers(shown: str) -> str:
    """Identify the mpi.h in use: its place, size and age."""
    headers = []
    for word in shown.split():
        header = Path(word[2:]) / "mpi.h"
        if word.startswith("-I") and header.is_file():
            status = header.stat()
            headers.append(f"{header} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(headers)


def _run(command: list[str]) -> str | None:
    """Return the first lines that a command prints; None if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def traced_environment(output: str | None) -> dict[str, str]:
    """Return the environment of a traced program. Print a line for each MPI without a wrapper.

    Raises: IncprofError if no MPI can be traced here.
    """
    library = launch.find_mpi_library(os.environ)
    environment = {"LD_PRELOAD": launch.preload_value(library, os.environ.get("LD_PRELOAD", ""))}
    if output is not None:
        if not output:
            raise UsageError("-o: a directory is needed")
        environment["INCPROF_TRACE_DIR"] = output
    if not os.environ.get(VARIABLE):
        wrappers = wrappers_for_all(launch.wrapper_sources(library), os.environ)
        for each in wrappers:
            if each.problem:
                say(f"{each.compiler}: {each.problem}")
        environment[VARIABLE] = variable(wrappers)
        if not environment[VARIABLE]:
            raise IncprofError("no MPI that can be traced: put its mpicc into PATH; see incprof doctor")
    return environment
