"""Whether a recording is bound to stay empty: a check of the program's headers, cheap enough for every start."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence

from incprof.elf.file import EM_AARCH64, EM_X86_64, PT_INTERP, SHT_SYMTAB, ElfFile, is_elf
from incprof.errors import NoDataError

MACHINES = {"x86_64": EM_X86_64, "aarch64": EM_AARCH64}

# Programs that start others. They are not built with -pg, and nobody expects them to be.
LAUNCHERS = frozenset(
    """
    sh bash dash zsh ksh csh tcsh env nice nohup time timeout stdbuf taskset numactl setsid chrt xargs
    make ninja cmake ctest python perl ruby julia Rscript perf gdb valgrind strace ltrace
    mpirun mpiexec orterun prterun prun srun aprun jsrun flux ibrun
    """.split()
)


def warning_for(program: str, words: Sequence[str]) -> str | None:
    """One line on why `program`, run with the arguments `words`, would record too little; None if all seems well."""
    if not is_elf(program):
        return None
    try:
        elf = ElfFile(program)
        reason = obstacle(elf)
        linked, compiled = calls_monstartup(elf), calls_mcount(elf)
    except NoDataError:
        return None  # the kernel has the last word on a file like that
    if reason:
        return f"{program}: {reason}: nothing will be recorded"
    if linked and compiled:
        return None
    if linked:
        return f"{program}: linked but not compiled with -pg: time will be recorded, but no calls"
    if compiled:
        return f"{program}: compiled but not linked with -pg: nothing will be recorded; link it with -pg too"
    if is_launcher(program) or any(map(is_profiled, words)):
        return None
    return f"{program}: not built with -pg: nothing will be recorded; compile and link it with -pg"


def mpi_warning_for(program: str) -> str | None:
    """One line on why no MPI call of `program` can be seen; None if all seems well."""
    if not is_elf(program):
        return None
    try:
        elf = ElfFile(program)
        reason = obstacle(elf)
        holds_mpi = any(symbol.name == "MPI_Init" and symbol.section for symbol in elf.symbols(SHT_SYMTAB))
    except NoDataError:
        return None
    if reason is None and holds_mpi:
        reason = "linked with a static MPI library, whose calls cannot be seen"
    return f"{program}: {reason}: nothing will be traced" if reason else None


def obstacle(elf: ElfFile) -> str | None:
    """Why the library cannot be preloaded into a program, if so."""
    if not elf.readable or elf.machine != MACHINES.get(platform.machine(), elf.machine):
        return "built for another kind of machine than libincprof.so"
    if not any(segment.type == PT_INTERP for segment in elf.segments):
        return "statically linked, so LD_PRELOAD has no effect"
    return None


def calls_mcount(elf: ElfFile) -> bool:
    """Whether functions of the file call the profiling hook: its name is among the dynamic strings.

    Linkers let names share their tails, so that only the end of a name is certain.
    """
    names = elf.dynamic_strings if elf.readable else b""
    return b"mcount\0" in names or b"__fentry__\0" in names


def calls_monstartup(elf: ElfFile) -> bool:
    """Whether the program was linked with -pg: its start-up file then calls what starts a recording."""
    return elf.readable and b"__monstartup\0" in elf.dynamic_strings


def is_launcher(program: str) -> bool:
    """Whether the program's name is that of a known launcher, as in mpiexec.hydra or python3.11."""
    name = os.path.basename(program).split(".")[0]
    return name in LAUNCHERS or name.rstrip("0123456789") in LAUNCHERS


def is_profiled(word: str) -> bool:
    """Whether a word of the command line is itself a program built with -pg."""
    path = word if "/" in word else shutil.which(word)
    if path is None or not is_elf(path):
        return False
    try:
        return calls_monstartup(ElfFile(path))
    except NoDataError:
        return False
