"""Functions and source lines of addresses in one binary, asked for in one batch."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from subprocess import DEVNULL, PIPE
from typing import NamedTuple

from incprof.inputs import open_input
from incprof.readers.symbols.line_tables import Place, from_line_tables

# Damaged debug information may lead a tool anywhere; no honest one takes as much time or memory.
TIMEOUT_S = 120
MEMORY = 16 << 30
# Of a program, with debug information.
LARGEST = 4 << 30
_LLVM = ("llvm-symbolizer", "--output-style=GNU", "-f=linkage", "--no-demangle", "-a", "-i", "-e")
_BINUTILS = ("addr2line", "-a", "-f", "-i", "-e")
# Section types, as an ELF header has them: .symtab and .dynsym, and anything.
SYMBOLS, PLAIN = (b"\2\0\0\0", b"\13\0\0\0"), b"\1\0\0\0"
ADDRESS = re.compile(r"0x[0-9a-f]+")
ANSWER = re.compile(r"(.+):(\d+)(?::\d+)?(?: \(discriminator \d+\))?")


class Frame(NamedTuple):
    """Code of a function, as its mangled name says; "" and 0 where the binary does not say."""

    function: str
    file: str
    line: int


# An address's code, innermost inlined function first, the one that the code lies in last; empty where nothing is known.
Chain = tuple[Frame, ...]


def look_up(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """File and line of each link-time address; None where the binary does not say.

    An address in inlined code has the line of the function that it was inlined into: that one is on record.
    """
    return [outermost(chain) for chain in chains(binary, addresses)]


def outermost(chain: Chain) -> Place | None:
    """Where a chain's code lies in the function that is on record."""
    return (chain[-1].file, chain[-1].line) if chain and chain[-1].line else None


def chains(binary: str, addresses: Sequence[int]) -> list[Chain]:
    """The functions whose code each link-time address is, as they were inlined into each other.

    Asks llvm-symbolizer, else addr2line, else reads the line table of the compile unit around each address, which
    knows one place and no name.
    """
    if not addresses:
        return []
    installed = [tool for tool in (_LLVM, _BINUTILS) if shutil.which(tool[0])]
    for tool in installed:
        if (answers := _ask(tool, binary, addresses)) is not None:
            return answers
    if installed:  # what makes these fail does no better below
        return [()] * len(addresses)
    places = from_line_tables(binary, addresses)
    return [(Frame("", *place),) if place else () for place in places]


def _ask(tool: Sequence[str], binary: str, addresses: Sequence[int]) -> list[Chain] | None:
    """Run a tool that answers each address on stdin with itself and, innermost first, names and places on two lines.

    None when it fails.
    """
    question = "".join(f"{address:#x}\n" for address in addresses)
    try:
        with (
            _without_symbols(binary) if tool is _BINUTILS else nullcontext(binary) as path,
            subprocess.Popen(
                [*tool, path],
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                text=True,
                errors="replace",
                pass_fds=_number(path),
            ) as process,
        ):
            answer = _answer(process, question)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if answer is None:
        return None
    found: list[list[Frame]] = []
    lines = iter(answer.split("\n"))
    for line in lines:
        if ADDRESS.fullmatch(line):
            found.append([])
        elif line and found:
            found[-1].append(_frame(line, next(lines, "")))
    return [_known(chain) for chain in found] if len(found) == len(addresses) else None


def _answer(process: subprocess.Popen[str], question: str) -> str | None:
    """What a tool says, within limits; None when it does not end well."""
    with suppress(OSError):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answer, _ = process.communicate(question, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return answer if process.returncode == 0 else None


@contextmanager
def _without_symbols(binary: str) -> Iterator[str]:
    """A copy in memory whose symbol tables are out of sight.

    With them, binutils has the name of the function on record for inlined code of C++ and Fortran.
    """
    with open_input(binary) as source, os.fdopen(os.memfd_create("debug"), "r+b") as copy:
        if os.fstat(source.fileno()).st_size > LARGEST:
            raise OSError(errno.EFBIG, "too large to be copied", binary)
        shutil.copyfileobj(source, copy, 1 << 20)
        copy.seek(0)
        head = copy.read(64)
        offset, size, count = (
            int.from_bytes(head[at : at + n], "little") for at, n in ((0x28, 8), (0x3A, 2), (0x3C, 2))
        )
        for section in range(count):
            copy.seek(offset + section * size + 4)
            if copy.read(4) in SYMBOLS:
                copy.seek(-4, os.SEEK_CUR)
                copy.write(PLAIN)
        copy.flush()
        yield f"/proc/self/fd/{copy.fileno()}"


def _number(path: str) -> tuple[int, ...]:
    """The descriptor that a path stands for."""
    return (int(path.rpartition("/")[2]),) if path.startswith("/proc/self/fd/") else ()


def _frame(function: str, answer: str) -> Frame:
    """A name and a `file:line` taken apart; `??` and the like are no answers."""
    match = ANSWER.fullmatch(answer)
    name = "" if function == "??" else function
    if not match or match[1] == "??" or int(match[2]) == 0:
        return Frame(name, "", 0)
    return Frame(name, os.path.normpath(match[1]), int(match[2]))


def _known(chain: list[Frame]) -> Chain:
    """The chain, or nothing when none of it has a line."""
    return tuple(chain) if any(frame.line for frame in chain) else ()
