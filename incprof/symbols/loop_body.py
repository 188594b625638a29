"""The code that a loop repeats: blocks that lead to each other.

Loops are the strongly connected components of the control flow graph, and recursively those of each component without
the edges to its entries (Steensgaard's nest; for structured code, natural loops). This is not all code between a
backward jump and its target: compilers move rarely executed code to the end, with jumps there and back, and they enter
a loop in its middle, at its condition.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array

from incprof.symbols.basic_blocks import Blocks
from incprof.symbols.flow import ANYWHERE, Control, Range

# Address of a backward jump, and its target.
Jump = tuple[int, int]
# The same with the repeated code, as address ranges (first, last), ascending.
Loop = tuple[Jump, list[Range]]


def with_code(flow: Sequence[Control], blocks: Blocks, jumps: Sequence[Jump]) -> list[Loop]:
    """Return backward jumps with their loops' code.

    The code is all between a jump and its target if an instruction in between may lead anywhere (jumps through tables).

    Args:
        flow: the jumps and returns of the function, in order of address.
        blocks: of the function.
        jumps: backward, whose target leads to them again.
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
    found: list[frozenset[int]] = []
    begun = _led_to(blocks)
    waiting = [(frozenset(range(len(blocks.ranges))), frozenset[int]())]
    for part, entered in waiting:
        for loop in _cycles(blocks, part, entered):
            found.append(loop)
            # The code after an unconditional jump leads to the next block, but is not executed.
            outside = begun - loop if loop & begun else frozenset(range(len(blocks.ranges))) - loop
            entries = {block for block in loop if block == 0 or outside.intersection(blocks.back.get(block, ()))}
            waiting.append((loop, frozenset(entries or {min(loop)})))
    return found


def _led_to(blocks: Blocks) -> frozenset[int]:
    """Return the blocks reachable from a function's beginning."""
    seen, waiting = {0}, [0]
    while waiting:
        new = set(blocks.ahead.get(waiting.pop(), ())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)


def _cycles(blocks: Blocks, part: frozenset[int], entered: frozenset[int]) -> list[frozenset[int]]:
    """Return the strongly connected components of some blocks, without the edges to the entries."""
    from scipy.sparse.csgraph import connected_components  # imported here, because most answers use stored loops

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
