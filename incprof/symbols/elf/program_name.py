"""The name of a program: as it was started, or of its script if an interpreter runs one.

Mirrors runtime/program_name.c, which names recorded programs, for a program that is yet to be started.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from incprof.symbols.elf.preflight import BUILDERS, STARTERS, is_among, is_loader


@dataclass(frozen=True)
class Interpreter:
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


PYTHON = Interpreter("bBdEhiIOPqRsSuvVx", "WX", "m", "--check-hash-based-pycs")
SHELL = Interpreter("abefhiklmnprtuvxBCEHPT", "oO", "", "--rcfile --init-file")
NODE = Interpreter("i", "rC", "", "--require --import --loader --experimental-loader --conditions --env-file")
OCTAVE = Interpreter("fHqVW", "p", "", "--path --exec-path --image-path")
JULIA = Interpreter(
    "iqgO0123456789", "CHJLpt", "m", "--threads --procs --load --sysimage --machine-file --cpu-target"
)  # fmt: skip
INTERPRETERS = {
    "python": PYTHON, "pypy": PYTHON, "bash": SHELL, "dash": SHELL, "sh": SHELL, "zsh": SHELL, "ksh": SHELL,
    "node": NODE, "nodejs": NODE, "octave": OCTAVE, "octave-cli": OCTAVE, "octave-gui": OCTAVE, "julia": JULIA,
    "perl": Interpreter("acnpsStTuUwWX", "I"), "ruby": Interpreter("acnpsSvwW", "Ir"), "lua": Interpreter("EivW", "l"),
    "Rscript": Interpreter(), "tclsh": Interpreter(),
}  # fmt: skip
# The dynamic loader takes a program to run as its argument.
LOADER = Interpreter(long_valued="--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-mask")
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
        return LOADER
    names = (name for name in INTERPRETERS if own.startswith(name) and VERSION.fullmatch(own, len(name)))
    return INTERPRETERS.get(next(names, ""))


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
