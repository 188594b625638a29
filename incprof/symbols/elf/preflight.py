"""The recorded program of a command line, its name, and whether its recording must fail: by headers, at every start."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from incprof.errors import NoDataError
from incprof.symbols.elf import EM_AARCH64, EM_X86_64, PT_INTERP, SHT_SYMTAB, ElfFile, is_elf

MACHINES = {"x86_64": EM_X86_64, "aarch64": EM_AARCH64}

# Programs that start others, or show them to the user.
STARTERS = frozenset(
    """
    sh bash dash zsh ksh csh tcsh fish busybox env nice nohup time timeout stdbuf taskset numactl setsid chrt xargs
    make gmake ninja cmake ctest sudo ssh perf gdb lldb valgrind strace ltrace
    mpirun mpiexec orterun prterun prun srun aprun jsrun flux ibrun
    """.split()
)
# Of those, the ones whose arguments are targets, not programs.
BUILDERS = frozenset("make gmake ninja cmake ctest".split())
# The dynamic loader: run by its name, it runs the program that is its first argument.
LOADER = re.compile(r"ld(?:-linux[\w-]*|64|-\d[\d.]*)?\.so(?:\.\d+)?")
# Recordings include its Python functions (docs/reference/python-programs.md).
PYTHON = frozenset(["python"])
# Script interpreters, whose scripts usually start other programs: recorded only on request.
INTERPRETERS = PYTHON | frozenset("pypy perl ruby julia Rscript tclsh lua".split())
INSTEAD = "incprof record --external records it"


def warning_for(program: str, words: Sequence[str], exe: str = "") -> str | None:
    """Return a line on why `program`, run with the arguments `words`, would record too little; None if all seems well.

    program: path of the command. exe: which programs are recorded, if set by the user.
    """
    executable = main_program(program, words)
    if executable is None:
        static_program = main_program(program, words, static=True)
        reason = _reason_against(static_program or program)
        if reason:
            hint = f"; {INSTEAD}" if static_program else ""
            return f"{_as_typed(static_program, program, words)}: {reason}: nothing will be recorded{hint}"
        return None
    reason = _reason_against(program)
    if reason and not is_among(program, STARTERS) and not is_loader(program):
        return f"{program}: {reason}: nothing will be recorded; {INSTEAD}"
    if exe and not _is_named(exe, executable, program, words):
        called = _as_typed(executable, program, words)
        return f"{called}: does not match --exe {exe}: only programs of that name that it starts are recorded"
    elf = _program_at(program, static=False)
    if elf is not None and calls_monstartup(elf) and not calls_mcount(elf):
        return f"{program}: linked but not compiled with -pg: calls will not be counted, but estimated from samples"
    return None


def _as_typed(path: str | None, program: str, words: Sequence[str]) -> str:
    """Return the word of a command line that names a program."""
    named = (word for word in words if "/" in word and path == os.path.realpath(word))
    return program if path is None or path == os.path.realpath(program) else next(named, path)


def _is_named(exe: str, executable: str, program: str, words: Sequence[str]) -> bool:
    """Return whether a program is selected for recording: by its path, its file's name, or the name in the command."""
    typed = (os.path.basename(word) for word in (program, *words) if os.path.realpath(word) == executable)
    return any(fnmatchcase(name, exe) for name in (executable, os.path.basename(executable), *typed))


def _reason_against(program: str) -> str | None:
    """Return why the library cannot be preloaded into the program of a file, if so."""
    try:
        reason = obstacle(ElfFile(program)) if is_elf(program) else None
        mode = os.stat(program)
    except (NoDataError, OSError):
        return None
    other_user = bool(mode.st_mode & stat.S_ISUID) and mode.st_uid != os.geteuid()
    other_group = bool(mode.st_mode & stat.S_ISGID) and mode.st_gid != os.getegid()
    return reason or ("setuid or setgid, so LD_PRELOAD has no effect" if other_user or other_group else None)


def main_program(program: str, words: Sequence[str], static: bool = False) -> str | None:
    """Return the program that a command is about, as the kernel will name it; None if unknown, as for scripts.

    This is the first one that does not only start others; or one linked with -pg, if a word names one. It is Python if
    there is no other. Words that are not paths are not programs to a Python script, nor to make.
    program: path of the command. static: whether it may be one that no library can be preloaded into.
    """
    first = python = None
    by_name = True
    for word in (program, *words):
        path = word if "/" in word else shutil.which(word) if by_name else None
        elf = _program_at(path, static) if path is not None and os.access(path, os.X_OK) else None
        if path is not None and elf is not None and is_among(path, PYTHON):
            python = python or os.path.realpath(path)
        by_name = by_name and python is None and not is_among(word, BUILDERS)
        if path is None or elf is None or is_among(path, STARTERS | INTERPRETERS):
            continue
        if calls_monstartup(elf):
            return os.path.realpath(path)
        first = first or os.path.realpath(path)
    return first or python


def _program_at(path: str, static: bool) -> ElfFile | None:
    """Return the program in a file, if a library can be preloaded into it, or any if `static`."""
    try:
        elf = ElfFile(path) if is_elf(path) else None
        return elf if elf is not None and elf.readable and (static or _reason_against(path) is None) else None
    except NoDataError:
        return None


def mpi_warning_for(program: str) -> str | None:
    """Return a line on why no MPI call of `program` can be recorded; None if all seems well."""
    if not is_elf(program):
        return None
    try:
        elf = ElfFile(program)
        reason = obstacle(elf)
        holds_mpi = any(symbol.name == "MPI_Init" and symbol.section for symbol in elf.symbols(SHT_SYMTAB))
    except NoDataError:
        return None
    if reason is None and holds_mpi:
        reason = "linked with a static MPI library, whose calls cannot be intercepted"
    return f"{program}: {reason}: nothing will be traced" if reason else None


def obstacle(elf: ElfFile) -> str | None:
    """Return why the library cannot be preloaded into a program, if so."""
    if not elf.readable or elf.machine != MACHINES.get(os.uname().machine, elf.machine):
        return "built for another kind of machine than libincprof.so"
    if not any(segment.type == PT_INTERP for segment in elf.segments):
        return "statically linked, so LD_PRELOAD has no effect"
    return "linked with musl, where libincprof.so does nothing" if loader_of(elf).startswith("ld-musl") else None


def loader_of(elf: ElfFile) -> str:
    """Return the file name of the dynamic loader that starts a program; empty if there is none."""
    segment = next((s for s in elf.segments if s.type == PT_INTERP), None)
    path = elf.read(segment.offset, segment.size) if segment is not None else b""
    return os.path.basename(path.rstrip(b"\0")).decode(errors="replace")


def calls_mcount(elf: ElfFile) -> bool:
    """Return whether functions of the file call the profiling hook: its name is among the dynamic strings.

    Linkers let names share their ends, so only the end of a name is certain.
    """
    names = elf.dynamic_strings if elf.readable else b""
    return b"mcount\0" in names or b"__fentry__\0" in names


def calls_monstartup(elf: ElfFile) -> bool:
    """Return whether the program was linked with -pg: its start-up file then calls the hook that starts recording."""
    return elf.readable and b"__monstartup\0" in elf.dynamic_strings


def is_loader(program: str) -> bool:
    """Return whether a program, by its name or path, is the dynamic loader."""
    return LOADER.fullmatch(os.path.basename(program)) is not None


def is_among(program: str, names: Set[str]) -> bool:
    """Return whether the program's name is one of these, as in mpiexec.hydra or python3.11."""
    name = os.path.basename(os.path.realpath(program)).split(".")[0]
    called = os.path.basename(program).split(".")[0]
    return any(one in names or one.rstrip("0123456789") in names for one in (name, called))


# The name of a program: as it was started, or of its script if an interpreter runs one. Mirrors
# runtime/program_name.c, which names recorded programs, for a program that is yet to be started.


class Interpreter(NamedTuple):
    """The options of an interpreter that may precede its script.

    Attributes:
        flag_letters: Letters of those without a value.
        valued: Letters of those with one, in the same word or the next.
        module: Letters of those whose value is a module to run.
        long_valued: Words with a value in the next word.
    """

    flag_letters: str = ""
    valued: str = ""
    module: str = ""
    long_valued: str = ""


PYTHONS = Interpreter("bBdEhiIOPqRsSuvVx", "WX", "m", "--check-hash-based-pycs")
SHELL = Interpreter("abefhiklmnprtuvxBCEHPT", "oO", "", "--rcfile --init-file")
NODE = Interpreter("i", "rC", "", "--require --import --loader --experimental-loader --conditions --env-file")
OCTAVE = Interpreter("fHqVW", "p", "", "--path --exec-path --image-path")
JULIA = Interpreter(
    "iqgO0123456789", "CHJLpt", "m", "--threads --procs --load --sysimage --machine-file --cpu-target"
)  # fmt: skip
OPTIONS = {
    "python": PYTHONS, "pypy": PYTHONS, "bash": SHELL, "dash": SHELL, "sh": SHELL, "zsh": SHELL, "ksh": SHELL,
    "node": NODE, "nodejs": NODE, "octave": OCTAVE, "octave-cli": OCTAVE, "octave-gui": OCTAVE, "julia": JULIA,
    "perl": Interpreter("acnpsStTuUwWX", "I"), "ruby": Interpreter("acnpsSvwW", "Ir"), "lua": Interpreter("EivW", "l"),
    "Rscript": Interpreter(), "tclsh": Interpreter(),
}  # fmt: skip
# The dynamic loader takes a program to run as its argument.
LOADER_OPTIONS = Interpreter(long_valued="--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-mask")
# After the interpreter's name: a version, and suffixes of Python builds.
VERSION = re.compile(r"[\d.-]*(?:t|dbg|intel64)?", re.ASCII)
# A program of this name gets its script from the program that starts it.
R, SCRIPT_OF_R = "R", "--file="
# Files without a name of their own: the shell's for <(...).
NAMELESS = re.compile(r"/dev/fd/|/proc/|/dev/stdin$")


def program_name(exe: str, argv: Sequence[str]) -> str:
    """Return the name of a program at `exe` that is started with the words `argv`.

    A program may be started by another path than its own (`redis-server`, a link to `redis-check-rdb`).
    """
    own = PurePosixPath(exe).name
    return script_name(exe, argv) or _started(own, argv[0] if argv else "") or own


def script_name(exe: str, argv: Sequence[str]) -> str:
    """Return the name of the script, module or program that an interpreter or loader at `exe` runs; "" if none."""
    own = PurePosixPath(exe).name
    if own == R:
        words = iter(argv)
        script = next((word for word in words if word == "-f" or word.startswith(SCRIPT_OF_R)), "")
        return _file(next(words, "") if script == "-f" else script[len(SCRIPT_OF_R) :])
    interpreter = _interpreter(own)
    return _script(interpreter, iter(argv[1:])) if interpreter is not None else ""


def is_interpreter(exe: str) -> bool:
    """Return whether the program at `exe` only runs programs of its user."""
    own = PurePosixPath(exe).name
    return own in ("java", R) or (not is_loader(own) and _interpreter(own) is not None)


def command_name(command: Sequence[str], executable: str | None) -> str:
    """Return the name of the program that a command is about.

    command: its words. executable: path of that program, if known (preflight.main_program); else the first that is no
    mere launcher.
    """
    for at, word in enumerate(command):
        path = shutil.which(word)
        exe = os.path.realpath(path) if path else ""
        starts_others = is_among(word, STARTERS - BUILDERS) and not _interpreter(PurePosixPath(exe).name)
        if exe and (exe == executable if executable else not starts_others):
            return program_name(exe, command[at:])
    return PurePosixPath(executable or command[0]).name


def _started(own: str, word: str) -> str:
    """Return the name in a program's first word."""
    if PurePosixPath(word).name == own or not word.isprintable():
        return own
    word = word.removeprefix("-")  # a login shell
    first = word.partition(" ")[0]
    return _file(first.removesuffix(":") if " " in word else first)


def _file(path: str) -> str:
    """Return the last part of a path; empty for one that names no file."""
    name = path.rstrip("/").rpartition("/")[2]
    return name if name.strip(".") and name.isprintable() and not NAMELESS.match(path) else ""


def _interpreter(own: str) -> Interpreter | None:
    """Return the options of an interpreter, by its file's name."""
    if is_loader(own):
        return LOADER_OPTIONS
    names = (name for name in OPTIONS if own.startswith(name) and VERSION.fullmatch(own, len(name)))
    return OPTIONS.get(next(names, ""))


def _script(interpreter: Interpreter, words: Iterator[str]) -> str:
    """Return the name of the script or module among the words after an interpreter."""
    for word in words:
        if word == "--" or word[:1] not in ("-", "+"):
            path = next(words, "") if word == "--" else word
            return _file(path.removesuffix("/__main__.py"))
        if word[1:2] == "-":
            if word in interpreter.long_valued.split():
                next(words, "")
            continue
        letters = word[1:].lstrip(interpreter.flag_letters)
        if not letters and word[1:]:
            continue
        value = letters[1:] or next(words, "")
        if letters[:1] not in (*interpreter.valued,):
            return _file(value) if letters[:1] in (*interpreter.module,) else ""
    return ""
