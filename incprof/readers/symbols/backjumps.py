"""Jumps backwards in machine code: what the loops of a function have been compiled to.

Code that is hardly ever run stands behind the rest, and jumps back to it as well. A loop is where the target of the
jump leads to the jump again, without leaving the code between them.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from incprof.elf.file import SHT_NOBITS, ElfFile
from incprof.errors import NoDataError

TIMEOUT_S = 60
# As much code is looked at, first come first served.
MOST_BYTES = 2_000_000
# So many steps are taken on the ways through a function, short loops first.
MOST_STEPS = 300_000
# What stands between functions: whatever the end of one looks like, the next one is read from its first byte.
GAP = b"\x90" * 16
CONTROL = re.compile(
    r"^\s*([0-9a-f]+):\s+(?:(?:bnd|notrack|repz?|data16) )*(j\w+|loop\w*|ret\w*|hlt|ud2)(?:,p[nt])?\b"
    r"[ \t]*(\*|(?:0x)?[0-9a-f]+)?",
    re.MULTILINE,
)
ANYWHERE = -1

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
    flows: list[list[_Control]] = [[] for _ in placed]
    at = 0
    for match in CONTROL.finditer(answer):
        source = int(match[1], 16)
        while at + 1 < len(placed) and placed[at + 1][0] <= source:
            at += 1
        offset, (address, size) = placed[at]
        if offset <= source < offset + size:
            flows[at].append(_control(source - offset + address, match[2], match[3] or "", address - offset))
    return {function: _loops(flow, function[0]) for flow, (_, function) in zip(flows, placed, strict=True)}


class _Control(NamedTuple):
    """An instruction after which another one than the next may run. target: None where it leads out of the function."""

    address: int
    target: int | None
    goes_on: bool


def _control(address: int, name: str, operand: str, shift: int) -> _Control:
    """Describe an instruction; a jump through a table may lead anywhere."""
    if not name.startswith(("j", "loop")):
        return _Control(address, None, False)
    target = ANYWHERE if operand.startswith("*") or not operand else int(operand, 16) + shift
    return _Control(address, target, name != "jmp")


def _loops(flow: Sequence[_Control], begin: int) -> list[Jump]:
    """The jumps back to where the way leads to them again."""
    back = [(c.address, c.target) for c in flow if c.target is not None and begin <= c.target <= c.address]
    steps, found = MOST_STEPS, list[Jump]()
    addresses = [control.address for control in flow]
    for source, target in sorted(back, key=lambda jump: (jump[0] - jump[1], jump)):
        returns, taken = _returns(flow, addresses, source, target)
        steps -= taken
        if steps < 0:
            break
        if returns:
            found.append((source, target))
    return sorted(found)


def _returns(flow: Sequence[_Control], addresses: Sequence[int], source: int, target: int) -> tuple[bool, int]:
    """Whether a jump's target leads to it without leaving the code between them, and how many steps it took to tell."""
    seen: set[int] = set()
    ahead = [target]
    while ahead:
        at = bisect_left(addresses, ahead.pop())
        while at < len(flow) and addresses[at] <= source and at not in seen:
            seen.add(at)
            control = flow[at]
            if control.address == source or control.target == ANYWHERE:
                return True, len(seen)
            if control.target is not None and target <= control.target <= source:
                ahead.append(control.target)
            if not control.goes_on:
                break
            at += 1
    return False, len(seen)


def _gathered(elf: ElfFile, functions: Sequence[Range]) -> tuple[bytes, list[tuple[int, Range]]]:
    """The code of functions one behind the other, and where each begins in it."""
    code, placed = bytearray(), list[tuple[int, Range]]()
    held: dict[int, bytes] = {}
    for address, size in functions:
        section = next((s for s in elf.sections if s.executable and s.address <= address < s.address + s.size), None)
        if section is None or section.type == SHT_NOBITS or not 0 < size <= MOST_BYTES - len(code):
            continue
        if section.address not in held:
            try:
                held[section.address] = elf.contents(section)
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
