"""Jumps backwards in machine code: what the loops of a function have been compiled to."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from incprof.errors import NoDataError
from incprof.readers.elf import ElfFile

TIMEOUT_S = 60
# As much code is looked at, first come first served.
MOST_BYTES = 2_000_000
# As many loops of a function are told.
MOST_JUMPS = 2000
# What stands between functions: whatever the end of one looks like, the next one is read from its first byte.
GAP = b"\x90" * 16
JUMP = re.compile(
    r"^\s*([0-9a-f]+):\s+(?:bnd |notrack )?(?:j\w+|loop\w*)(?:,p[nt])?\s+(?:0x)?([0-9a-f]+)\b", re.MULTILINE
)

# Where the jump stands and where it leads.
Jump = tuple[int, int]
Range = tuple[int, int]


def back_jumps(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, list[Jump]]:
    """The jumps backwards within each function, given by its first address and its size.

    Functions whose code is not in the file, or that are too large, are left out; all of them without objdump.
    """
    code, placed = _gathered(elf, functions)
    if not placed or shutil.which("objdump") is None:
        return {}
    answer = _disassembled(code)
    if answer is None:
        return {}
    found: dict[Range, list[Jump]] = {function: [] for _, function in placed}
    at = 0
    for match in JUMP.finditer(answer):
        source, target = int(match[1], 16), int(match[2], 16)
        while at + 1 < len(placed) and placed[at + 1][0] <= source:
            at += 1
        offset, (address, size) = placed[at]
        if offset <= target <= source < offset + size and len(found[address, size]) < MOST_JUMPS:
            found[address, size].append((source - offset + address, target - offset + address))
    return found


def _gathered(elf: ElfFile, functions: Sequence[Range]) -> tuple[bytes, list[tuple[int, Range]]]:
    """The code of functions one behind the other, and where each begins in it."""
    code, placed = bytearray(), list[tuple[int, Range]]()
    held: dict[int, bytes] = {}
    for address, size in functions:
        section = next((s for s in elf.sections if s.executable and s.address <= address < s.address + s.size), None)
        if section is None or section.type == "SHT_NOBITS" or not 0 < size <= MOST_BYTES - len(code):
            continue
        if section.address not in held:
            try:
                held[section.address] = elf.bytes_of(section)
            except NoDataError:
                held[section.address] = b""
        piece = held[section.address][address - section.address :][:size]
        if len(piece) == size:
            placed.append((len(code), (address, size)))
            code += piece + GAP
    return bytes(code), placed


def _disassembled(code: bytes) -> str | None:
    """What objdump says of code; None when it fails."""
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
