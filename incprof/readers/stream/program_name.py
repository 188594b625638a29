"""What a recorded program is called: as it was started, and by its script where an interpreter ran one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from incprof.elf.preflight import is_loader

PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:t|-dbg|-intel64)?")
# Of Python, options with a value behind them or in the next word: a command, a module, and others.
OPTION = re.compile(r"-[bBdEhiIOPqRsSuvVx]*([cmWX])(.*)", re.DOTALL)
LONG_OPTION = "--check-hash-based-pycs"
# Others whose script is their first word.
INTERPRETER = re.compile(r"(?:perl|ruby|node|nodejs|julia|lua|tclsh|octave-cli|bash|dash|sh|zsh|ksh)[\d.-]*")
# Of the dynamic loader, which may be called with the program to run behind its options, those that have a value.
LOADERS_VALUES = frozenset(
    ["--library-path", "--preload", "--audit", "--argv0", "--inhibit-rpath", "--glibc-hwcaps-mask"]
)
# A program of this name is given its script by the one that starts it.
R, SCRIPT_OF_R = "R", "--file="


def program_name(exe: str, argv: Sequence[str]) -> str:
    """Return the name of a program, which lies at `exe` and was started with the words `argv`.

    A program may be at another path than that by which it is started (`redis-server`, a link to `redis-check-rdb`), and
    may write over its words, its name first (`nginx: master process`).
    """
    own = PurePosixPath(exe).name
    return _script(own, argv) or _started(own, argv[0] if argv else "") or own


def _started(own: str, word: str) -> str:
    """Return the name in a program's first word."""
    name = PurePosixPath(word).name
    if name == own or not word.isprintable():
        return own
    if " " in word:
        name = PurePosixPath(word.split()[0]).name.rstrip(":")
    return name.removeprefix("-")  # a shell at login


def _script(own: str, argv: Sequence[str]) -> str:
    """Return the name of the script that an interpreter runs."""
    if PYTHON.fullmatch(own):
        return _of_python(argv[1:])
    if is_loader(own):
        return _of_loader(argv[1:])
    if own == R:
        script = next((word for word in argv if word.startswith(SCRIPT_OF_R)), "")
        return PurePosixPath(script[len(SCRIPT_OF_R) :]).name
    if INTERPRETER.fullmatch(own) and argv[1:] and not argv[1].startswith(("-", "+")):
        return PurePosixPath(argv[1]).name
    return ""


def _of_loader(words: Sequence[str]) -> str:
    """Return the name of the program among the words behind `ld.so`."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            return PurePosixPath(word).name
        if word in LOADERS_VALUES:
            next(rest, "")
    return ""


def _of_python(words: Sequence[str]) -> str:
    """Return the name of the script or module among the words behind `python3`; empty where it is neither."""
    rest = iter(words)
    for word in rest:
        option = OPTION.match(word)
        value = (option and option[2]) or next(rest, "") if option or word == LONG_OPTION else ""
        if option and option[1] in "cm":
            return value if option[1] == "m" else ""
        if not word.startswith("-"):
            path = PurePosixPath(word)
            return path.parent.name if path.name == "__main__.py" and path.parent.name else path.name
        if word == "-":
            return ""
    return ""
