"""Loops of machine code at the addresses of call paths. p path nodes, l loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model.arrays import BoolArray, IntArray

# First and last address.
Range = tuple[int, int]

# Of an address: its code could not be read; it lies in no loop. Loops are numbered from 1.
UNKNOWN_CODE, OUTSIDE_LOOPS = -1, 0


@dataclass(frozen=True)
class CodeLoops:
    """The loop of its function's code that contains the address of each path node.

    Attributes:
        at: (p,) UNKNOWN_CODE, OUTSIDE_LOOPS, or the innermost loop.
        around: (l + 1,) the enclosing loop of each loop, 0 for none; around[0] is 0.
        always: (p,) whether each iteration of that loop executes the address; outside loops, whether each call of its
            function does.
    """

    at: IntArray
    around: IntArray
    always: BoolArray

    def outermost(self) -> IntArray:
        """Return the outermost loop of each path node, (p,); `at` has the innermost one."""
        top = np.arange(len(self.around))
        for loop, outer in enumerate(self.around.tolist()):
            top[loop] = top[outer] if outer else loop
        return np.where(self.at > 0, top[np.maximum(self.at, 0)], self.at)

    def lies_in(self, inner: IntArray, outer: IntArray) -> BoolArray:
        """Return whether loops equal or lie inside others: (m,) each, True where `inner` is `outer` or inside it."""
        found: BoolArray = (inner == outer) & (outer > 0)
        loop = np.maximum(inner, 0)
        while loop.any():
            loop = self.around[loop]
            found |= (loop == outer) & (outer > 0)
        return found


def nested(bodies: Iterable[tuple[int, Sequence[Range]]]) -> list[tuple[list[Range], int]]:
    """Return a function's loops as address ranges, each with the position of the loop around it, -1 for none.

    An outer loop comes before the loops inside it. Jumps back to the same target are one loop, and so are those with
    the same code.

    Args:
        bodies: target of each backward jump, and the code that it repeats.
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
    """Return the position of the innermost loop that contains each address, (m,), -1 for none."""
    found = np.full(len(address), -1, dtype=np.int64)
    for position, (body, _) in enumerate(loops):  # in order of decreasing size
        for low, high in body:
            found[(address >= low) & (address <= high)] = position
    return found


def _bytes(body: Sequence[Range]) -> int:
    return sum(high - low for low, high in body)


def _covers(body: Sequence[Range], part: Range) -> bool:
    return any(low <= part[0] and part[1] <= high for low, high in body)
