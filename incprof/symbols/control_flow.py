"""Control flow of functions' machine code, from objdump: instructions that another than the next one may follow."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from incprof.errors import NoDataError
from incprof.symbols.elf import SHT_NOBITS, ElfFile

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
    controls: list[list[Control]] = [[] for _ in placed]
    at = 0
    for match in CONTROL.finditer(answer):
        source = int(match[1], 16)
        while at + 1 < len(placed) and placed[at + 1][0] <= source:
            at += 1
        offset, (address, size) = placed[at]
        if offset <= source < offset + size:
            controls[at].append(_control(source - offset + address, match[2], match[3] or "", address - offset))
    return {function: flow for flow, (_, function) in zip(controls, placed, strict=True)}


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


# The control flow graph of a function: its basic blocks, and their successors.


@dataclass(frozen=True)
class Blocks:
    """Blocks in order of address.

    Attributes:
        ranges: first and last address of each.
        successors: successors of each.
        back: predecessors of each.
    """

    ranges: Sequence[Range]
    successors: Mapping[int, Sequence[int]]
    back: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, flow: Sequence[Control], function: Range) -> Blocks:
        """Split a function into blocks. flow: its jumps and returns, in order of address."""
        ranges = _cut(flow, function)
        begins = [begin for begin, _ in ranges]
        successors: dict[int, list[int]] = {}
        back: dict[int, list[int]] = {}
        by_address = {control.address: control for control in flow}
        for number, (_, last) in enumerate(ranges):
            for address in _next(by_address.get(last), ranges, number):
                place = bisect_left(begins, address)
                if place < len(begins) and begins[place] == address:
                    successors.setdefault(number, []).append(place)
                    back.setdefault(place, []).append(number)
        return cls(ranges, successors, back)

    def at(self, address: int) -> int:
        """Return the block that contains an address of the function."""
        return bisect_right(self.ranges, address, key=lambda block: block[0]) - 1

    def in_ranges(self, code: Iterable[Range]) -> set[int]:
        """Return the blocks that begin in the given address ranges."""
        blocks: set[int] = set()
        for first, last in code:
            blocks.update(range(bisect_left(self.ranges, first, key=lambda block: block[0]), self.at(last) + 1))
        return blocks

    def joined(self, numbers: Iterable[int]) -> list[Range]:
        """Return blocks, given ascending, as address ranges, neighbours merged, with their last instructions."""
        out: list[Range] = []
        for begin, last in (self.ranges[number] for number in numbers):
            if out and begin - 1 <= out[-1][1]:
                out[-1] = (out[-1][0], last)
            else:
                out.append((begin, last))
        return out


def _cut(flow: Sequence[Control], function: Range) -> list[Range]:
    """Return ranges of code without jumps into or out of them; a range ends with a jump, or before the next range."""
    first, size = function
    ends = [control.address for control in flow]
    starts = {first, *(c.target for c in flow if c.target is not None), *(end + 1 for end in ends)}
    boundaries = sorted(boundary for boundary in starts if first <= boundary < first + size)
    out = []
    for begin, after in zip(boundaries, [*boundaries[1:], first + size], strict=True):
        at = bisect_left(ends, begin)
        out.append((begin, ends[at] if at < len(ends) and ends[at] < after else after - 1))
    return out


def _next(control: Control | None, blocks: Sequence[Range], number: int) -> Iterator[int]:
    """Yield the successors of a block: its jump's target, and the next block."""
    if control is not None and control.target is not None:
        yield control.target
    if (control is None or control.goes_on) and number + 1 < len(blocks):
        yield blocks[number + 1][0]


# The code that a loop repeats: blocks that lead to each other.
#
# Loops are the strongly connected components of the control flow graph, and recursively those of each component
# without the edges to its entries (Steensgaard's nest; for structured code, natural loops). This is not all code
# between a backward jump and its target: compilers move rarely executed code to the end, with jumps there and back,
# and they enter a loop in its middle, at its condition.


# Address of a backward jump, and its target.
Jump = tuple[int, int]
# The same with the repeated code, as address ranges (first, last), ascending.
Loop = tuple[Jump, list[Range]]


def with_code(flow: Sequence[Control], blocks: Blocks, jumps: Sequence[Jump]) -> list[Loop]:
    """Return backward jumps with their loops' code.

    The code is all between a jump and its target if an instruction in between may lead anywhere (jumps through tables).
    flow: the jumps and returns of the function, in order of address. jumps: backward, whose target leads to them again.
    """
    nest = loop_nest(blocks) if jumps else []
    tables = [control.address for control in flow if control.target == ANYWHERE]
    out = []
    for source, target in jumps:
        head, end = blocks.at(target), blocks.at(source)
        inner = next((loop for loop in reversed(nest) if head in loop and end in loop), None)
        if inner is None or any(target <= address <= source for address in tables):
            out.append(((source, target), [(target, source)]))
        else:
            out.append(((source, target), blocks.joined(sorted(inner))))
    return out


def loop_nest(blocks: Blocks) -> list[frozenset[int]]:
    """Return the loops of a function as their blocks: outer ones before those inside them."""
    loops: list[frozenset[int]] = []
    begun = _reachable(blocks)
    waiting = [(frozenset(range(len(blocks.ranges))), frozenset[int]())]
    for part, entered in waiting:
        for loop in _cycles(blocks, part, entered):
            loops.append(loop)
            # The code after an unconditional jump leads to the next block, but is not executed.
            outside = begun - loop if loop & begun else frozenset(range(len(blocks.ranges))) - loop
            entries = {block for block in loop if block == 0 or outside.intersection(blocks.back.get(block, ()))}
            waiting.append((loop, frozenset(entries or {min(loop)})))
    return loops


def _reachable(blocks: Blocks) -> frozenset[int]:
    """Return the blocks reachable from a function's beginning."""
    reached, waiting = {0}, [0]
    while waiting:
        new = set(blocks.successors.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return frozenset(reached)


def _cycles(blocks: Blocks, part: frozenset[int], entered: frozenset[int]) -> list[frozenset[int]]:
    """Return the strongly connected components of some blocks, without the edges to the entries."""
    from scipy.sparse.csgraph import connected_components  # imported here, because most answers use stored loops

    order = sorted(part)
    place = {block: number for number, block in enumerate(order)}
    edges = [
        (place[block], place[other])
        for block in order
        for other in blocks.successors.get(block, ())
        if other in part and other not in entered
    ]
    if not edges:
        return []
    rows, columns = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(order), len(order)))
    count, label = connected_components(graph, connection="strong")
    members: list[set[int]] = [set() for _ in range(count)]
    for block, number in zip(order, label.tolist(), strict=True):
        members[number].add(block)
    itself = {order[one] for one, other in edges if one == other}
    return sorted((frozenset(m) for m in members if len(m) > 1 or m & itself), key=min)


# Backward jumps in machine code: the compiled form of a function's loops.
#
# Code that rarely runs is placed after the rest, and jumps back to it as well. A loop exists where the target of the
# jump leads to the jump again, without leaving the code between them.


# Most steps taken along the paths through a function, short loops first.
MOST_STEPS = 300_000
# Larger functions are skipped: each block takes as many bits as there are blocks.
MOST_BLOCKS = 4096


def always_run(
    flow: Sequence[Control], blocks: Blocks, loops: Sequence[tuple[tuple[int, int], Sequence[Range]]]
) -> list[Range]:
    """Return the addresses that always run, (first, last), ascending; none if jumps through tables may lead anywhere.

    flow: the jumps and returns of the function, in order of address. loops: backward jumps with their targets, and the
    loops' code; those with the same code are one loop.
    """
    if any(control.target == ANYWHERE for control in flow) or not blocks.ranges:
        return []
    addresses = range(blocks.ranges[0][0], blocks.ranges[-1][1] + 1)
    leaving = {
        blocks.at(control.address) for control in flow if not control.goes_on and control.target not in addresses
    }
    ends: dict[frozenset[int], dict[int, set[int]]] = {}
    for (source, target), body in loops:
        ends.setdefault(frozenset(blocks.in_ranges(body)), {}).setdefault(target, set()).add(blocks.at(source))
    always = _on_all_paths(blocks, 0, leaving, frozenset(range(len(blocks.ranges))))
    for inside, jumps in sorted(ends.items(), key=lambda loop: (-len(loop[0]), min(loop[1]))):
        on_all_paths = [_on_all_paths(blocks, blocks.at(target), last, inside) for target, last in jumps.items()]
        always = (always - inside) | set.intersection(*on_all_paths)
    return blocks.joined(sorted(always))


def _on_all_paths(blocks: Blocks, first: int, last: set[int], inside: frozenset[int]) -> set[int]:
    """Return the blocks on all paths from `first` to the last ones that stay inside and do not return to the first."""
    if len(inside) > MOST_BLOCKS:
        return set()
    order = _in_order(blocks, first, inside)
    # The dominators of a block as bits.
    common = dict.fromkeys(order, -1) | {first: 1 << first}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            before = reduce(and_, (common[b] for b in blocks.back.get(block, ()) if b in common))
            changed |= common[block] != (now := before | 1 << block)
            common[block] = now
    on_all = reduce(and_, (common[block] for block in last if block in common), -1)
    return {block for block in order if on_all >> block & 1} if last & common.keys() else set()


def _in_order(blocks: Blocks, first: int, inside: frozenset[int]) -> list[int]:
    """Return the blocks inside that one leads to, from that one on, in reverse postorder."""
    visited, done = {first}, list[int]()
    waiting = [(first, iter(blocks.successors.get(first, ())))]
    while waiting:
        block, successors = waiting[-1]
        further = next((other for other in successors if other in inside and other not in visited), None)
        if further is None:
            done.append(block)
            waiting.pop()
        else:
            visited.add(further)
            waiting.append((further, iter(blocks.successors.get(further, ()))))
    return done[::-1]


class LoopCode(NamedTuple):
    """The loops of a function. always: code that each iteration of its innermost loop, or each call, runs."""

    loops: list[Loop]
    always: list[Range]


def loops_of_code(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, LoopCode]:
    """Return the backward jumps within each function, given by first address and size, with the loops' code.

    Functions whose code is not in the file, or that are too large, are left out; without objdump, all of them.
    """
    loop_codes = {}
    for function, flow in flows(elf, functions).items():
        blocks = Blocks.of(flow, function)
        loops = with_code(flow, blocks, _loops(flow, function[0]))
        loop_codes[function] = LoopCode(loops, always_run(flow, blocks, loops))
    return loop_codes


def _loops(flow: Sequence[Control], begin: int) -> list[Jump]:
    """Return the backward jumps whose target leads to them again."""
    back = [(c.address, c.target) for c in flow if c.target is not None and begin <= c.target <= c.address]
    steps, jumps = MOST_STEPS, list[Jump]()
    addresses = [control.address for control in flow]
    for source, target in sorted(back, key=lambda jump: (jump[0] - jump[1], jump)):
        returns, taken = _leads_back(flow, addresses, source, target)
        steps -= taken
        if steps < 0:
            break
        if returns:
            jumps.append((source, target))
    return sorted(jumps)


def _leads_back(flow: Sequence[Control], addresses: Sequence[int], source: int, target: int) -> tuple[bool, int]:
    """Return whether a jump's target leads to it within the code between them, and the steps taken to find out."""
    visited: set[int] = set()
    pending = [target]
    while pending:
        at = bisect_left(addresses, pending.pop())
        while at < len(flow) and addresses[at] <= source and at not in visited:
            visited.add(at)
            control = flow[at]
            if control.address == source or control.target == ANYWHERE:
                return True, len(visited)
            if control.target is not None and target <= control.target <= source:
                pending.append(control.target)
            if not control.goes_on:
                break
            at += 1
    return False, len(visited)
