"""Backward jumps in machine code: the compiled form of a function's loops.

Code that rarely runs is placed after the rest, and jumps back to it as well. A loop exists where the target of the jump
leads to the jump again, without leaving the code between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

from incprof.symbols.basic_blocks import Blocks
from incprof.symbols.elf.file import ElfFile
from incprof.symbols.flow import ANYWHERE, Control, Range, flows
from incprof.symbols.loop_body import Jump, Loop, with_code

# Most steps taken along the paths through a function, short loops first.
MOST_STEPS = 300_000
# Larger functions are skipped: each block takes as many bits as there are blocks.
MOST_BLOCKS = 4096


def always_run(
    flow: Sequence[Control], blocks: Blocks, loops: Sequence[tuple[tuple[int, int], Sequence[Range]]]
) -> list[Range]:
    """Return the addresses that always run, (first, last), ascending; none if jumps through tables may lead anywhere.

    Args:
        flow: the jumps and returns of the function, in order of address.
        blocks: of the function.
        loops: backward jumps with their targets, and the loops' code; those with the same code are one loop.
    """
    if any(control.target == ANYWHERE for control in flow) or not blocks.ranges:
        return []
    within = range(blocks.ranges[0][0], blocks.ranges[-1][1] + 1)
    leaving = {blocks.at(control.address) for control in flow if not control.goes_on and control.target not in within}
    ends: dict[frozenset[int], dict[int, set[int]]] = {}
    for (source, target), body in loops:
        ends.setdefault(frozenset(blocks.within(body)), {}).setdefault(target, set()).add(blocks.at(source))
    always = _on_all_ways(blocks, 0, leaving, frozenset(range(len(blocks.ranges))))
    for inside, jumps in sorted(ends.items(), key=lambda loop: (-len(loop[0]), min(loop[1]))):
        ways = [_on_all_ways(blocks, blocks.at(target), last, inside) for target, last in jumps.items()]
        always = (always - inside) | set.intersection(*ways)
    return blocks.joined(sorted(always))


def _on_all_ways(blocks: Blocks, first: int, last: set[int], inside: frozenset[int]) -> set[int]:
    """Return the blocks on all paths from `first` to the last ones that stay inside and do not return to the first."""
    if len(inside) > MOST_BLOCKS:
        return set()
    order = _in_order(blocks, first, inside)
    # The dominators of a block as bits.
    known = dict.fromkeys(order, -1) | {first: 1 << first}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            before = reduce(and_, (known[b] for b in blocks.back.get(block, ()) if b in known))
            changed |= known[block] != (now := before | 1 << block)
            known[block] = now
    on_all = reduce(and_, (known[block] for block in last if block in known), -1)
    return {block for block in order if on_all >> block & 1} if last & known.keys() else set()


def _in_order(blocks: Blocks, first: int, inside: frozenset[int]) -> list[int]:
    """Return the blocks inside that one leads to, from that one on, in reverse postorder."""
    seen, done = {first}, list[int]()
    waiting = [(first, iter(blocks.ahead.get(first, ())))]
    while waiting:
        block, ahead = waiting[-1]
        further = next((other for other in ahead if other in inside and other not in seen), None)
        if further is None:
            done.append(block)
            waiting.pop()
        else:
            seen.add(further)
            waiting.append((further, iter(blocks.ahead.get(further, ()))))
    return done[::-1]


class LoopCode(NamedTuple):
    """The loops of a function. always: code that each iteration of its innermost loop, or each call, runs."""

    loops: list[Loop]
    always: list[Range]


def loops_of_code(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, LoopCode]:
    """Return the backward jumps within each function, given by first address and size, with the loops' code.

    Functions whose code is not in the file, or that are too large, are left out; without objdump, all of them.
    """
    found = {}
    for function, flow in flows(elf, functions).items():
        blocks = Blocks.of(flow, function)
        loops = with_code(flow, blocks, _loops(flow, function[0]))
        found[function] = LoopCode(loops, always_run(flow, blocks, loops))
    return found


def back_jumps(elf: ElfFile, functions: Sequence[Range]) -> dict[Range, list[Jump]]:
    """Return the same without the loops' code."""
    return {function: [jump for jump, _ in code.loops] for function, code in loops_of_code(elf, functions).items()}


def _loops(flow: Sequence[Control], begin: int) -> list[Jump]:
    """Return the backward jumps whose target leads to them again."""
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
    """Return whether a jump's target leads to it within the code between them, and the steps taken to find out."""
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
