"""The control flow graph of a function: its blocks of code, and which may come after which."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from incprof.readers.symbols.flow import Control, Range


@dataclass(frozen=True)
class Blocks:
    """Blocks in order of address. ranges: first and last address of each. ahead, back: those next to it."""

    ranges: Sequence[Range]
    ahead: Mapping[int, Sequence[int]]
    back: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, flow: Sequence[Control], function: Range) -> Blocks:
        """Cut a function into blocks. flow: its jumps and returns, in order of address."""
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
        """The block that an address of the function lies in."""
        return bisect_right(self.ranges, address, key=lambda block: block[0]) - 1

    def within(self, code: Iterable[Range]) -> set[int]:
        """The blocks that begin in some ranges of addresses."""
        found: set[int] = set()
        for first, last in code:
            found.update(range(bisect_left(self.ranges, first, key=lambda block: block[0]), self.at(last) + 1))
        return found

    def joined(self, numbers: Iterable[int]) -> list[Range]:
        """Some blocks, ascending, as ranges of addresses: neighbouring ones as one, with their last instructions."""
        out: list[Range] = []
        for begin, last in (self.ranges[number] for number in numbers):
            if out and begin - 1 <= out[-1][1]:
                out[-1] = (out[-1][0], last)
            else:
                out.append((begin, last))
        return out


def _cut(flow: Sequence[Control], function: Range) -> list[Range]:
    """Stretches of code without jumps into them or out of them; a stretch ends with a jump, or before the next one."""
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
    """Where a block leads: its jump's target, and the next block."""
    if control is not None and control.target is not None:
        yield control.target
    if (control is None or control.goes_on) and number + 1 < len(blocks):
        yield blocks[number + 1][0]
