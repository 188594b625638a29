"""Turn a compile command into one that only checks the syntax, of a file in another tree, and writes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from incprof.source.compile_commands import Command, with_response_files

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
    {"-D", "-U", "-x", "-A", "-L", "-l", "-T", "-u", "-z", "-B", "-Xclang", "-Xpreprocessor", "-Xassembler", "-Xlinker"}
    | {
        "-target",
        "-arch",
        "-mllvm",
        "--param",
        "-isysroot",
        "--sysroot",
        "-iprefix",
        "-iwithprefix",
        "-imultilib",
        "-include-pch",
    }
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

    Args:
        command: The original command.
        words: Arguments of the compiler.
        moved: From an absolute path to its replacement.
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
    found = place(path)
    return found if os.path.exists(found) else path
