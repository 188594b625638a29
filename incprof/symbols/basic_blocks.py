"""The control flow graph of a function: its basic blocks, and their successors."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from incprof.symbols.flow import Control, Range


@dataclass(frozen=True)
class Blocks:
    """Blocks in order of address.

    Attributes:
        ranges: first and last address of each.
        ahead: successors of each.
        back: predecessors of each.
    """

    ranges: Sequence[Range]
    ahead: Mapping[int, Sequence[int]]
    back: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, flow: Sequence[Control], function: Range) -> Blocks:
        """Split a function into blocks. flow: its jumps and returns, in order of address."""
        ranges = _cut(flow, function)
        begins = [begin for begin, _ in ranges]
        ahead: dict[int, list[int]] = {}
        back: dict[int, list[int]] = {}
        by_address = {control.address: control for control in flow}
        for number, (_, last) in enumerate(ranges):
            for address in _next(by_address.get(last), ranges, number):
                place = bisect_left(begins, address)
                if place < len(begins) and begins[place] == address:
                    ahead.setdefault(number, []).append(place)
                    back.setdefault(place, []).append(number)
        return cls(ranges, ahead, back)

    def at(self, address: int) -> int:
        """Return the block that contains an address of the function."""
        return bisect_right(self.ranges, address, key=lambda block: block[0]) - 1

    def within(self, code: Iterable[Range]) -> set[int]:
        """Return the blocks that begin in the given address ranges."""
        found: set[int] = set()
        for first, last in code:
            found.update(range(bisect_left(self.ranges, first, key=lambda block: block[0]), self.at(last) + 1))
        return found

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
    known = {first, *(c.target for c in flow if c.target is not None), *(end + 1 for end in ends)}
    borders = sorted(border for border in known if first <= border < first + size)
    out = []
    for begin, after in zip(borders, [*borders[1:], first + size], strict=True):
        at = bisect_left(ends, begin)
        out.append((begin, ends[at] if at < len(ends) and ends[at] < after else after - 1))
    return out


def _next(control: Control | None, blocks: Sequence[Range], number: int) -> Iterator[int]:
    """Yield the successors of a block: its jump's target, and the next block."""
    if control is not None and control.target is not None:
        yield control.target
    if (control is None or control.goes_on) and number + 1 < len(blocks):
        yield blocks[number + 1][0]
