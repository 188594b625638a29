"""Look up functions and source lines of addresses in one binary, in one batch."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from subprocess import DEVNULL, PIPE
from typing import NamedTuple

from incprof.symbols.hidden_symbols import shared_file, without_symbols
from incprof.symbols.line_tables import Place, from_line_tables

# Limits for tools, which damaged debug information may send anywhere; honest information needs far less.
TIMEOUT_S = 120
MEMORY = 16 << 30
_LLVM = ("llvm-symbolizer", "--output-style=GNU", "-f=linkage", "--no-demangle", "-a", "-i", "-e")
_BINUTILS = ("addr2line", "-a", "-f", "-i", "-e")
ADDRESS = re.compile(r"0x[0-9a-f]+")
ANSWER = re.compile(r"(.+):(\d+)(?::\d+)?(?: \(discriminator \d+\))?")


class Frame(NamedTuple):
    """Code of a function, by its mangled name; "" and 0 if the binary does not contain them."""

    function: str
    file: str
    line: int


# The code at an address: the innermost inlined function first, the containing one last; empty if unknown.
Chain = tuple[Frame, ...]


def look_up(binary: str, addresses: Sequence[int]) -> list[Place | None]:
    """Return file and line of each link-time address; None if the binary does not contain them.

    An address in inlined code has its line in the recorded function, the one around all inlined ones.
    """
    return [outermost(chain) for chain in chains(binary, addresses)]


def outermost(chain: Chain) -> Place | None:
    """Return the place of a chain's code in the recorded function."""
    return (chain[-1].file, chain[-1].line) if chain and chain[-1].line else None


def chains(binary: str, addresses: Sequence[int]) -> list[Chain]:
    """Return the chain of inlined functions at each link-time address.

    Uses llvm-symbolizer; addr2line if that resolves less, as for sections that it cannot decompress; without both, the
    line table of the compile unit around each address, which yields one place and no name.
    """
    if not addresses:
        return []
    installed = [tool for tool in (_LLVM, _BINUTILS) if shutil.which(tool[0])]
    # LLVM does not read shared debug files (dwz), and returns wrong names of inlined functions.
    shared = bool(shared_file(binary))
    installed.sort(key=lambda tool: shared and tool is _LLVM)
    best: list[Chain] | None = None
    for tool in installed:
        answers = _ask(tool, binary, addresses)
        if answers is not None and shared and tool is _LLVM:
            answers = [chain[-1:] for chain in answers]
        if answers is not None and (best is None or known_frames(answers) > known_frames(best)):
            best = answers
        if best is not None and known_frames(best)[0] and not lacks_names(best):
            break
    if installed:  # input that makes these fail would fail below as well
        return best if best is not None else [()] * len(addresses)
    places = from_line_tables(binary, addresses)
    return [(Frame("", *place),) if place else () for place in places]


def known_frames(found: Sequence[Chain]) -> tuple[int, int]:
    """Return how many frames have lines, and how many have names as well."""
    frames = [frame for chain in found for frame in chain if frame.line]
    return len(frames), sum(frame.function != "" for frame in frames)


def lacks_names(found: Sequence[Chain]) -> bool:
    """Return whether the name of an inlined function is missing."""
    return any(not frame.function for chain in found for frame in chain[:-1])


def _ask(tool: Sequence[str], binary: str, addresses: Sequence[int]) -> list[Chain] | None:
    """Run a tool that answers each address on stdin with itself and, innermost first, names and places on two lines.

    Return None if it fails.
    """
    question = "".join(f"{address:#x}\n" for address in addresses)
    try:
        with (
            without_symbols(binary) if tool is _BINUTILS else nullcontext((binary, None)) as (path, copy),
            subprocess.Popen(
                [*tool, path],
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                text=True,
                errors="replace",
                pass_fds=() if copy is None else (copy,),
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
    """Return the output of a tool, within limits; None if it does not end successfully."""
    with suppress(OSError):
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        answer, _ = process.communicate(question, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return answer if process.returncode == 0 else None


def _frame(function: str, answer: str) -> Frame:
    """Parse a name and a `file:line`; `??` and the like count as missing."""
    match = ANSWER.fullmatch(answer)
    name = "" if function == "??" else function
    if not match or match[1] == "??" or int(match[2]) == 0:
        return Frame(name, "", 0)
    return Frame(name, os.path.normpath(match[1]), int(match[2]))


def _known(chain: list[Frame]) -> Chain:
    """Return the chain, or an empty one if none of it has a line."""
    return tuple(chain) if any(frame.line for frame in chain) else ()
