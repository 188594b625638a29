"""Jumps backwards in machine code: what the loops of a function have been compiled to.

Code that is hardly ever run stands behind the rest, and jumps back to it as well. A loop is where the target of the
jump leads to the jump again, without leaving the code between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from incprof.elf.file import ElfFile
from incprof.readers.symbols.always import always_run
from incprof.readers.symbols.blocks import Blocks
from incprof.readers.symbols.flow import ANYWHERE, Control, Range, flows
from incprof.readers.symbols.loop_body import Jump, Loop, with_code

# So many steps are taken on the ways through a function, short loops first.
MOST_STEPS = 300_000


class LoopCode(NamedTuple):
    """The loops of a function. always: code that is run in each iteration of its innermost loop, or in each call."""

    loops: list[Loop]
    always: list[Range]


def loops_of_code(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, LoopCode]:
    """The jumps backwards within each function, given by its first address and its size, with the loops' code.

    Functions whose code is not in the file, or that are too large, are left out; all of them without objdump.
    """
    found = {}
    for function, flow in flows(elf, functions).items():
        blocks = Blocks.of(flow, function)
        loops = with_code(flow, blocks, _loops(flow, function[0]))
        found[function] = LoopCode(loops, always_run(flow, blocks, loops))
    return found


def back_jumps(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, list[Jump]]:
    """The same without the loops' code."""
    return {function: [jump for jump, _ in code.loops] for function, code in loops_of_code(elf, functions).items()}


def _loops(flow: Sequence[Control], begin: int) -> list[Jump]:
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


def _returns(flow: Sequence[Control], addresses: Sequence[int], source: int, target: int) -> tuple[bool, int]:
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
