"""Which code a loop runs again: what its target leads to, and what leads to the jump before the target comes again.

That is not all that lies between the two: compilers put what is seldom run behind the rest, with jumps there and back.
"""

from __future__ import annotations

from collections.abc import Sequence

from incprof.readers.symbols.blocks import Blocks, reached
from incprof.readers.symbols.flow import ANYWHERE, Control, Range


def body_of(flow: Sequence[Control], blocks: Blocks, jump: tuple[int, int]) -> list[Range]:
    """The addresses of a loop's code, (first, last), ascending, of which the last is where an instruction begins.

    All between a jump and its target where something in between may lead anywhere (jumps through tables).

    Args:
        flow: the jumps and returns of the function, in order of address.
        blocks: of the function.
        jump: back, and its target.
    """
    source, target = jump
    if any(control.target == ANYWHERE for control in flow if target <= control.address <= source):
        return [(target, source)]
    head, end = blocks.at(target), blocks.at(source)
    return blocks.joined(sorted(reached(end, blocks.back, head) & reached(head, blocks.ahead)))
