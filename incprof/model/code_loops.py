"""Loops of machine code at the addresses of call paths. p path nodes, l loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model.arrays import BoolArray, IntArray

# First and last address.
Range = tuple[int, int]

# Nobody could look at the code; the address lies in no loop. Loops have numbers from 1.
UNKNOWN_CODE, OUTSIDE_LOOPS = -1, 0


@dataclass(frozen=True)
class CodeLoops:
    """In which loop of its function's code the address of each path node lies.

    at: (p,) UNKNOWN_CODE, OUTSIDE_LOOPS, or the innermost loop. around: (l + 1,) the loop that each one lies in, 0 for
    none; around[0] is 0. always: (p,) whether the address is run in each iteration of that loop, or, outside of loops,
    in each call of its function.
    """

    at: IntArray
    around: IntArray
    always: BoolArray

    def outermost(self) -> IntArray:
        """The outermost loop of each path node, (p,), where `at` has the innermost one."""
        top = np.arange(len(self.around))
        for loop, outer in enumerate(self.around.tolist()):
            top[loop] = top[outer] if outer else loop
        return np.where(self.at > 0, top[np.maximum(self.at, 0)], self.at)

    def lies_in(self, inner: IntArray, outer: IntArray) -> BoolArray:
        """Whether loops are other ones, or lie in these: (m,) each, True where `inner` is `outer` or inside of it."""
        found: BoolArray = (inner == outer) & (outer > 0)
        loop = np.maximum(inner, 0)
        while loop.any():
            loop = self.around[loop]
            found |= (loop == outer) & (outer > 0)
        return found

    def with_unknown(self, more: int) -> CodeLoops:
        """The same with so many path nodes more, of which nothing is known."""
        at = np.concatenate([self.at, np.full(more, UNKNOWN_CODE, dtype=self.at.dtype)])
        return CodeLoops(at, self.around, np.concatenate([self.always, np.zeros(more, dtype=np.bool_)]))


def nested(bodies: Iterable[tuple[int, Sequence[Range]]]) -> list[tuple[list[Range], int]]:
    """Loops of a function as their ranges of addresses, and the position of the loop around, -1 where there is none.

    An outer one comes before what it holds. bodies: where each jump back leads, and the code that is run again; jumps
    back to one place are one loop, and so are those with the same code.
    """
    joined: dict[int, set[Range]] = {}
    for target, body in bodies:
        joined.setdefault(target, set()).update(body)
    found: list[tuple[list[Range], int]] = []
    for body in sorted({tuple(sorted(body)) for body in joined.values()}, key=lambda body: (-_bytes(body), body)):
        holds = (i for i in range(len(found) - 1, -1, -1) if all(_covers(found[i][0], part) for part in body))
        found.append((list(body), next(holds, -1)))
    return found


def innermost(loops: Sequence[tuple[Sequence[Range], int]], address: IntArray) -> IntArray:
    """Position of the innermost loop that each address lies in, (m,), -1 for none."""
    found = np.full(len(address), -1, dtype=np.int64)
    for position, (body, _) in enumerate(loops):  # larger ones come first
        for low, high in body:
            found[(address >= low) & (address <= high)] = position
    return found


def _bytes(body: Sequence[Range]) -> int:
    return sum(high - low for low, high in body)


def _covers(body: Sequence[Range], part: Range) -> bool:
    return any(low <= part[0] and part[1] <= high for low, high in body)
