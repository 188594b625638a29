"""compile_commands.json: how the build compiles each source file, and the same command that only checks the syntax."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incprof.errors import NoDataError
from incprof.safe.inputs import read_input
from incprof.safe.printable import INSTEAD, parse_json

MOST_BYTES = 512 << 20
# Longest command, with response files; no longer one could be executed.
MOST_WORDS = 100_000
DEEPEST_RESPONSE = 10
MOST_RESPONSE = 1 << 20


@dataclass(frozen=True, slots=True)
class Command:
    """The compilation of one source.

    Attributes:
        directory: absolute, links resolved.
        file: absolute, links resolved.
        words: the compiler first.
    """

    directory: str
    file: str
    words: tuple[str, ...]


def read_commands(path: Path) -> list[Command]:
    """Return the commands of a compilation database; invalid entries are left out.

    Raises: NoDataError if it cannot be read, is not JSON, or contains no command.
    """
    try:
        entries = parse_json(read_input(path, MOST_BYTES))
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NoDataError(f"{path}: no JSON: let the build write it again") from error
    if not isinstance(entries, list):
        raise NoDataError(f"{path}: not a list of commands: let the build write it again")
    base = os.path.dirname(os.path.abspath(path))
    commands = [command for entry in entries if (command := _command(entry, base)) is not None]
    if not commands:
        raise NoDataError(f"{path}: no commands in it: let the build write it again")
    return commands


def _command(entry: Any, base: str) -> Command | None:
    """Return one entry; None if it is incomplete."""
    if not isinstance(entry, dict):
        return None
    directory, file, words = entry.get("directory", base), entry.get("file"), entry.get("arguments")
    if words is None and isinstance(entry.get("command"), str):
        try:
            words = shlex.split(entry["command"])
        except ValueError:
            return None
    if not isinstance(directory, str) or not isinstance(file, str) or not isinstance(words, list):
        return None
    if not file or not words or len(words) > MOST_WORDS or not all(map(_usable, [directory, file, *words])):
        return None
    place = os.path.realpath(os.path.join(base, directory))
    return Command(place, os.path.realpath(os.path.join(place, file)), tuple(words))


def _usable(text: Any) -> bool:
    """Return whether a system call accepts the text."""
    return isinstance(text, str) and INSTEAD not in text


def with_response_files(words: Sequence[str], directory: str) -> list[str]:
    """Return the words with each `@file` replaced by its contents, as compilers do; a missing file stays."""
    answer: list[str] = []
    waiting = [(word, 0) for word in reversed(words)]
    while waiting and len(answer) < MOST_WORDS:
        word, depth = waiting.pop()
        inner = _response(os.path.join(directory, word[1:])) if word[:1] == "@" and depth < DEEPEST_RESPONSE else None
        if inner is None:
            answer.append(word)
        else:
            waiting += [(each, depth + 1) for each in reversed(inner)]
    return answer


def _response(path: str) -> list[str] | None:
    try:
        return shlex.split(os.fsdecode(read_input(path, MOST_RESPONSE)))
    except (OSError, ValueError):
        return None


LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "buildcache"})
COMPILER = re.compile(
    r"(?:[\w.]+-)*(?:gcc|g\+\+|cc|c\+\+|c89|c99|clang|clang\+\+|gfortran|flang(?:-new)?|mpi(?:cc|cxx|c\+\+|CC|fort|f90|f77))"
    r"(?:-\d+(?:\.\d+)*)?"
)
FORTRAN = re.compile(r"(?:[\w.]+-)*(?:gfortran|flang|mpif)")

# Options that write a file, or change the output format; with a separate value, or without.
DROPPED_PAIRS = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "-dumpdir", "-dumpbase", "-dumpbase-ext", "-wrapper"})
DROPPED = re.compile(
    r"-c|-S|-E|-o(?!bjc).+|-M|-MM|-MD|-MMD|-MG|-MP|-M[FTQJ].+|-Wp,-M.*|-save-temps.*|-fdump.*|-fsyntax-only|-time.*"
    r"|-fdiagnostics-.*|-f(?:no-)?color-diagnostics|-fstack-usage|-fcallgraph-info.*|-fopt-info.*|-Q|-v|-###|--coverage"
    r"|-ftest-coverage|-fprofile-.*"
)
# Options that name a place; both `-I place` and `-Iplace`.
PLACES = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-I", "-J")
# Further options that may have their value in the next word.
PAIRS = frozenset(
    "-D -U -x -A -L -l -T -u -z -B -Xclang -Xpreprocessor -Xassembler -Xlinker -target -arch -mllvm --param -isysroot "
    "--sysroot -iprefix -iwithprefix -imultilib -include-pch".split()
)


def compiler_words(command: Command) -> tuple[str, list[str]] | None:
    """Return the compiler and its arguments; None if the command does not start a supported compiler."""
    words = with_response_files(command.words, command.directory)
    while words and os.path.basename(words[0]) in LAUNCHERS:
        words = words[1:]
    if not words or not COMPILER.fullmatch(os.path.basename(words[0])):
        return None
    compiler = os.path.normpath(os.path.join(command.directory, words[0])) if "/" in words[0] else words[0]
    return compiler, words[1:]


def is_fortran(compiler: str) -> bool:
    """Return whether it compiles Fortran."""
    return FORTRAN.match(os.path.basename(compiler)) is not None


def syntax_words(command: Command, words: Sequence[str], moved: Callable[[str], str]) -> list[str]:
    """Return the arguments without the source and options that write files.

    words: Arguments of the compiler. moved: From an absolute path to its replacement.
    """

    def place(path: str) -> str:
        return moved(os.path.normpath(os.path.join(command.directory, path)))

    answer: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        value = waiting[-1] if waiting else ""
        option = next((each for each in PLACES if word.startswith(each)), None)
        if word in DROPPED_PAIRS:
            waiting[-1:] = []
        elif DROPPED.fullmatch(word):
            continue
        elif option is not None and not word.startswith("-include-"):
            path = word[len(option) :] or value
            waiting[-1:] = waiting[-1:] if len(word) > len(option) else []
            # Modules are written to our directory, and read from theirs.
            answer += [
                "-I" if option == "-J" else option,
                _header(path, place) if option == "-include" else place(path),
            ]
        elif word in PAIRS:
            answer += [word, value]
            waiting[-1:] = []
        elif word.startswith("-"):
            answer.append(word)
    return answer


def _header(path: str, place: Callable[[str], str]) -> str:
    """Return a header of `-include`; if it is not in the command's directory, compilers search for it."""
    header = place(path)
    return header if os.path.exists(header) else path
