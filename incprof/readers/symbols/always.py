"""Which code of a function is run each time: in each iteration of its innermost loop, or in each call of the function.

That is what lies on all ways from the first block to the last ones: these blocks' dominators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from incprof.readers.symbols.blocks import Blocks
from incprof.readers.symbols.flow import ANYWHERE, Control, Range

# Of larger loops nothing is said: each block costs as many bits as there are blocks.
MOST_BLOCKS = 4096


def always_run(
    flow: Sequence[Control], blocks: Blocks, loops: Sequence[tuple[tuple[int, int], Sequence[Range]]]
) -> list[Range]:
    """The addresses that are run each time, (first, last), ascending; none where jumps through tables lead anywhere.

    Args:
        flow: the jumps and returns of the function, in order of address.
        blocks: of the function.
        loops: jumps back with their targets, and the loops' code; those with the same code are one loop.
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
    """The blocks on all ways from one to the last ones, without leaving some, or coming back to the first."""
    if len(inside) > MOST_BLOCKS:
        return set()
    order = _in_order(blocks, first, inside)
    # A block's dominators as bits.
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
    """The blocks inside that one leads to, from that one on, each after some that lead to it (reverse postorder)."""
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
