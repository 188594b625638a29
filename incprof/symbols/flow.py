"""Control flow of functions' machine code, from objdump: instructions that another than the next one may follow."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from incprof.errors import NoDataError
from incprof.symbols.elf.file import SHT_NOBITS, ElfFile

TIMEOUT_S = 60
# Most bytes of code that are examined, in the order given.
MOST_BYTES = 2_000_000
# Padding between functions: however one ends, the next one is disassembled from its first byte.
GAP = b"\x90" * 16
CONTROL = re.compile(
    r"^\s*([0-9a-f]+):\s+(?:(?:bnd|notrack|repz?|data16) )*(j\w+|loop\w*|ret\w*|hlt|ud2)(?:,p[nt])?\b"
    r"[ \t]*(\*|(?:0x)?[0-9a-f]+)?",
    re.MULTILINE,
)
ANYWHERE = -1

# First address and size of a function.
Range = tuple[int, int]


class Control(NamedTuple):
    """An instruction after which another one than the next may run.

    target: its destination, in the function or outside; None if it returns or ends the program.
    """

    address: int
    target: int | None
    goes_on: bool


def flows(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, list[Control]]:
    """Return the jumps and returns of each function, in order of address.

    Functions whose code is not in the file, or that are too large, are left out; without objdump, all of them.
    """
    code, placed = _gathered(elf, functions)
    if not placed or shutil.which("objdump") is None:
        return {}
    answer = _disassembled(code)
    if answer is None:
        return {}
    found: list[list[Control]] = [[] for _ in placed]
    at = 0
    for match in CONTROL.finditer(answer):
        source = int(match[1], 16)
        while at + 1 < len(placed) and placed[at + 1][0] <= source:
            at += 1
        offset, (address, size) = placed[at]
        if offset <= source < offset + size:
            found[at].append(_control(source - offset + address, match[2], match[3] or "", address - offset))
    return {function: flow for flow, (_, function) in zip(found, placed, strict=True)}


def _control(address: int, name: str, operand: str, shift: int) -> Control:
    """Describe an instruction; a jump through a table may lead anywhere."""
    if not name.startswith(("j", "loop")):
        return Control(address, None, False)
    target = ANYWHERE if operand.startswith("*") or not operand else (int(operand, 16) + shift) % 2**64
    return Control(address, target, name != "jmp")


def _gathered(elf: ElfFile, functions: Sequence[Range]) -> tuple[bytes, list[tuple[int, Range]]]:
    """Return the concatenated code of functions, and where each begins in it."""
    code, placed = bytearray(), list[tuple[int, Range]]()
    for address, size in functions:
        section = next((s for s in elf.sections if s.executable and s.address <= address < s.address + s.size), None)
        if section is None or section.type == SHT_NOBITS or not 0 < size <= MOST_BYTES - len(code):
            continue
        offset = address - section.address
        if offset + size > section.size:
            continue
        with contextlib.suppress(NoDataError):
            piece = elf.read(section.offset + offset, size)
            placed.append((len(code), (address, size)))
            code += piece + GAP
    return bytes(code), placed


def _disassembled(code: bytes) -> str | None:
    """Return objdump's disassembly of code; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code"
        command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn", str(path)]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            path.write_bytes(code)
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=True
            )
            return done.stdout
    return None
