"""Which code a loop runs again: what its target leads to, and what leads to the jump before the target comes again.

That is not all that lies between the two: compilers put what is seldom run behind the rest, with jumps there and back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from incprof.readers.symbols.flow import ANYWHERE, Control, Range


def body_of(flow: Sequence[Control], function: Range, jump: tuple[int, int]) -> list[Range]:
    """The addresses of a loop's code, (first, last), ascending, of which the last is where an instruction begins.

    All between a jump and its target where something in between may lead anywhere (jumps through tables).

    Args:
        flow: the jumps and returns of the function, in order of address.
        function: its first address and size.
        jump: back, and its target.
    """
    source, target = jump
    if any(control.target == ANYWHERE for control in flow if target <= control.address <= source):
        return [(target, source)]
    blocks = _blocks(flow, function)
    begins = [begin for begin, _ in blocks]
    ahead: dict[int, list[int]] = {}
    back: dict[int, list[int]] = {}
    by_address = {control.address: control for control in flow}
    for number, (_, last) in enumerate(blocks):
        for address in _next(by_address.get(last), blocks, number):
            place = bisect_left(begins, address)
            if place < len(begins) and begins[place] == address:
                ahead.setdefault(number, []).append(place)
                back.setdefault(place, []).append(number)
    head, end = bisect_right(begins, target) - 1, bisect_right(begins, source) - 1
    body = _reached(end, back, head) & _reached(head, ahead)
    return _joined(blocks[number] for number in sorted(body))


def _blocks(flow: Sequence[Control], function: Range) -> list[Range]:
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


def _next(control: Control | None, blocks: Sequence[Range], number: int) -> Iterable[int]:
    """Where a block leads: its jump's target, and the next block."""
    if control is not None and control.target is not None:
        yield control.target
    if (control is None or control.goes_on) and number + 1 < len(blocks):
        yield blocks[number + 1][0]


def _reached(start: int, edges: Mapping[int, Sequence[int]], until: int | None = None) -> set[int]:
    """The blocks that some lead to, from one on; not further than `until`."""
    seen, waiting = {start}, [start]
    while waiting:
        block = waiting.pop()
        if block == until:
            continue
        for other in edges.get(block, ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _joined(blocks: Iterable[Range]) -> list[Range]:
    """Neighbouring ranges as one, and with the bytes of their last instructions."""
    out: list[Range] = []
    for begin, last in blocks:
        if out and begin - 1 <= out[-1][1]:
            out[-1] = (out[-1][0], last)
        else:
            out.append((begin, last))
    return out
