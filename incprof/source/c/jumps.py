"""By which ways control gets into a loop's body past the start, or out of it past the end."""

from __future__ import annotations

import re
from bisect import bisect_right

from incprof.source.c.inside import Inside
from incprof.source.c.view import View

MOST_NESTED = 64
_GOTO = re.compile(rb"\bgoto\s*([A-Za-z_]\w*|\*)?")
_LABEL = re.compile(rb"\b([A-Za-z_]\w*)\s*:(?!:)")


def jumped_into(inside: Inside, view: View) -> list[str | None]:
    """For each loop of a function the jump that leads past its guard; None where there is none.

    Jumps are looked for in the text with all branches of #if, also where the parser could not read it.
    """
    reasons: list[str | None] = [
        "a case label in it belongs to a switch around it" if each.entered else None for each in inside.loops
    ]
    labels = dict(inside.labels)
    gotos = [(jump.start(), jump[1]) for jump in _GOTO.finditer(view.text.bare, *inside.span)]
    named = {name for _, name in gotos if name not in (None, b"*")}
    if named:
        found = _LABEL.finditer(view.text.bare, *inside.span)
        labels |= {label.start(1): label[1] for label in found if label[1] in named}
    holders = {offset: _holders(offset, inside) for offset in labels}
    at: dict[bytes, list[int]] = {}
    for offset, name in labels.items():
        at.setdefault(name, []).append(offset)
    for offset, name in gotos:
        for i in {i for label in at.get(name, ()) for i in holders[label]}:
            body = inside.loops[i].body
            if body is not None and not body.start_byte <= offset < body.end_byte:
                reasons[i] = reasons[i] or "a goto from outside jumps into it"
    computed = [offset for offset, name in gotos if name in (None, b"*")] + inside.computed
    if computed:
        for i in {i for found_in in holders.values() for i in found_in}:
            reasons[i] = reasons[i] or "a computed goto may jump into it"
        for i in {i for offset in computed for i in _holders(offset, inside)}:
            reasons[i] = reasons[i] or "a computed goto may jump out of it"
    for offset, name in labels.items():
        if name not in named or name in view.macro_labels:
            for i in holders[offset]:
                reasons[i] = reasons[i] or "a macro may jump to a label in it"
    return reasons


def _holders(offset: int, inside: Inside) -> list[int]:
    """The loops around an offset."""
    at: int | None = bisect_right(inside.loops, offset, key=lambda each: each.node.start_byte) - 1
    if at == -1:
        return []
    found: list[int] = []
    while at is not None and len(found) <= MOST_NESTED:
        each = inside.loops[at]
        if each.node.start_byte <= offset < each.node.end_byte:
            found.append(at)
        at = each.parent
    return found
