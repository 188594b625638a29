"""Which code a loop runs again: blocks that lead to each other.

Loops are the strongly connected parts of the control flow graph, and again those of each part without the ways to where
it is entered (Steensgaard's nest; of structured code, natural loops). That is not all that lies between a jump back and
its target: compilers put what is seldom run behind the rest, with jumps there and back, and they enter a loop in its
middle, where its condition stands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array

from incprof.readers.symbols.blocks import Blocks
from incprof.readers.symbols.flow import ANYWHERE, Control, Range

# Where a jump back stands and where it leads.
Jump = tuple[int, int]
# The same with the code that is run again, as ranges of addresses (first, last), ascending.
Loop = tuple[Jump, list[Range]]


def with_code(flow: Sequence[Control], blocks: Blocks, jumps: Sequence[Jump]) -> list[Loop]:
    """Jumps back with their loops' code.

    All between a jump and its target where something in between may lead anywhere (jumps through tables).

    Args:
        flow: the jumps and returns of the function, in order of address.
        blocks: of the function.
        jumps: back to where the way leads to them again.
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
    """The loops of a function as their blocks: outer ones before those in them."""
    found: list[frozenset[int]] = []
    begun = _led_to(blocks)
    waiting = [(frozenset(range(len(blocks.ranges))), frozenset[int]())]
    for part, entered in waiting:
        for loop in _cycles(blocks, part, entered):
            found.append(loop)
            # What follows a jump that is always taken leads on to the next block, and is not run.
            outside = begun - loop if loop & begun else frozenset(range(len(blocks.ranges))) - loop
            entries = {block for block in loop if block == 0 or outside.intersection(blocks.back.get(block, ()))}
            waiting.append((loop, frozenset(entries or {min(loop)})))
    return found


def _led_to(blocks: Blocks) -> frozenset[int]:
    """The blocks that a function's beginning leads to."""
    seen, waiting = {0}, [0]
    while waiting:
        new = set(blocks.ahead.get(waiting.pop(), ())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def _cycles(blocks: Blocks, part: frozenset[int], entered: frozenset[int]) -> list[frozenset[int]]:
    """The strongly connected parts of some blocks, without the ways to where they are entered."""
    from scipy.sparse.csgraph import connected_components  # here: most answers find loops that are kept beside a run

    order = sorted(part)
    place = {block: number for number, block in enumerate(order)}
    ways = [
        (place[block], place[other])
        for block in order
        for other in blocks.ahead.get(block, ())
        if other in part and other not in entered
    ]
    if not ways:
        return []
    rows, columns = np.array(ways).T
    graph = coo_array((np.ones(len(ways)), (rows, columns)), shape=(len(order), len(order)))
    count, label = connected_components(graph, connection="strong")
    members: list[set[int]] = [set() for _ in range(count)]
    for block, number in zip(order, label.tolist(), strict=True):
        members[number].add(block)
    itself = {order[one] for one, other in ways if one == other}
    return sorted((frozenset(m) for m in members if len(m) > 1 or m & itself), key=min)
