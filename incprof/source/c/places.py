"""Places for texts in a C or C++ file: after a brace, before a statement, and where #include can go."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from incprof.source.c.marks import INCLUDE, after, before, line
from incprof.source.c.view import View
from incprof.source.model import Insertion, line_ending

# Text that may follow on a line, so that a new line can be inserted after it.
_REST = re.compile(rb"[ \t]*(?:/\*(?:(?!\*/)[^\n])*\*/[ \t]*)?(?://[^\n]*)?\r?\n")
_CONTINUED = re.compile(rb"(?:\\|\?\?/)[ \t\f\v]*\r?\n\Z")
_BLANK = re.compile(rb"[ \t]*")
_INDENT = re.compile(rb"(?:[ \t]*\r?\n)*([ \t]*)(\S?)")
_INCLUDE = re.compile(rb"\s*#\s*(?:include|include_next|import)\b")
_CONDITION = re.compile(rb"\s*#\s*if")
_BOM = b"\xef\xbb\xbf"


def insertions_after(data: bytes, offset: int, calls: Sequence[bytes]) -> list[Insertion]:
    """Return calls after a token that ends at `offset`: on lines of their own if it ends its line, else on its line."""
    line_end = _REST.match(data, offset)
    if line_end and not _CONTINUED.search(line_end[0]):
        indent, ending = _indent(data, line_end.end(), offset), line_ending(line_end[0])
        return [Insertion(line_end.end(), line(call, indent, ending)) for call in calls]
    blank = _BLANK.match(data, offset)
    return [Insertion(blank.end() if blank else offset, before(call)) for call in calls]


def insertions_before(data: bytes, offset: int, calls: Sequence[bytes]) -> list[Insertion]:
    """Return calls before the token at `offset`: on lines of their own if it starts its line."""
    start = _starts_line(data, offset)
    if start is None:
        return [Insertion(offset, before(call)) for call in calls]
    ending = line_ending(data[max(start - 2, 0) : start])
    return [Insertion(start, line(call, data[start:offset], ending)) for call in calls]


def enclosed(data: bytes, start: int, end: int, outer: int, calls: Sequence[bytes]) -> list[Insertion]:
    """Return braces around a statement, and calls in it: on lines of their own if it shares no line.

    outer: start of the loop that repeats it; the braces are indented like that line.
    """
    line_end = _REST.match(data, end)
    first = _starts_line(data, start)
    if first is None or not line_end or _CONTINUED.search(line_end[0]):
        return [Insertion(start, before(*calls, brace=True)), Insertion(end, after())]
    own, ending = _BLANK.match(data, data.rfind(b"\n", 0, outer) + 1), line_ending(line_end[0])
    indent = own[0] if own else b""
    opening, closing = line(b"{", indent, ending), line(b"}", indent, ending)
    return [Insertion(first, opening), *insertions_before(data, start, calls), Insertion(line_end.end(), closing)]


def _starts_line(data: bytes, offset: int) -> int | None:
    """Return the start of the line whose first token is at `offset`, if other lines can be inserted before it."""
    start = data.rfind(b"\n", 0, offset) + 1
    previous = data[data.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start]
    if start and not data[start:offset].strip(b" \t") and not _CONTINUED.search(previous):
        return start
    return None


def _indent(data: bytes, start: int, brace: int) -> bytes:
    """Return the indentation of the next token; one step more than the brace's line if there is none."""
    match = _INDENT.match(data, start)
    if match and match[2] not in (b"}", b"#", b""):
        return match[1]
    own = _BLANK.match(data, data.rfind(b"\n", 0, brace) + 1)
    outer = own[0] if own else b""
    return outer + (b"\t" if b"\t" in outer else b"    ")


def include_at(view: View, sites: Sequence[int]) -> Insertion:
    """Return the line that includes appekg.h, for insertions at these offsets."""
    offset = _include_offset(view, sites)
    data = view.data
    previous = data[max(offset - 2, 0) : offset]
    if not previous.endswith(b"\n"):
        first = data.find(b"\n")
        previous = data[max(first - 1, 0) : first + 1]
    return Insertion(offset, line(INCLUDE, b"", line_ending(previous)))


def _include_offset(view: View, sites: Sequence[int]) -> int:
    first = min(sites, default=len(view.data))
    shared = _shared([view.text.context(site) for site in sites])
    depths = _Outside(view)
    at = bisect_right(view.text.directives, (first, 0)) - 1
    for start, end in view.text.directives[at::-1]:
        if _INCLUDE.match(view.data, start, end) and _prefix(view.text.context(start), shared) and depths.free(start):
            newline = view.data.find(b"\n", end)
            if 0 <= newline < first:
                return newline + 1
    return _before_construct(view, first, shared, depths)


def _before_construct(view: View, first: int, shared: tuple[int, ...], depths: _Outside) -> int:
    """Return the start of a line before the construct with the first site, outside all braces and separate branches."""
    offset = depths.outermost(first)
    if not _prefix(view.text.context(offset), shared):
        at = bisect_right(view.text.directives, (offset, 0)) - 1
        for start, end in view.text.directives[at::-1]:
            if view.text.context(start) == shared and _CONDITION.match(view.data, start, end):
                offset = start
                break
    begin = 3 if view.data.startswith(_BOM) else 0
    while True:
        start = view.data.rfind(b"\n", 0, offset) + 1
        if start <= begin:
            return begin
        if depths.free(start) and _prefix(view.text.context(start), shared) and not view.text.inside_token(start):
            return start
        offset = start - 1


def _shared(contexts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the branches that contain all of them."""
    low, high = min(contexts, default=()), max(contexts, default=())
    count = 0
    while count < min(len(low), len(high)) and low[count] == high[count]:
        count += 1
    return low[:count]


def _prefix(context: tuple[int, ...], of: tuple[int, ...]) -> bool:
    return of[: len(context)] == context


class _Outside:
    """The parts of a file outside all braces, and between two declarations."""

    def __init__(self, view: View):
        self.view = view
        self.spans: list[tuple[int, int]] = []
        for start, end in sorted(view.blocks.closing.items()):
            if not self.spans or start > self.spans[-1][1]:
                self.spans.append((start, end))

    def free(self, offset: int) -> bool:
        """Return whether a declaration could start here."""
        at = bisect_right(self.spans, (offset, 0)) - 1
        if at >= 0 and offset <= self.spans[at][1]:
            return False
        since = self.spans[at][1] if at >= 0 else 0
        before_it = self.view.code[since:offset].rstrip(b" \t\r\n\f\v\xef\xbb\xbf")
        return not before_it or before_it[-1:] in b";}"

    def outermost(self, offset: int) -> int:
        """Return the start of the text that the outermost braces around an offset belong to."""
        at = bisect_right(self.spans, (offset, 0)) - 1
        inside = at >= 0 and offset <= self.spans[at][1]
        start = self.spans[at][0] if inside else offset
        head = max(self.view.code.rfind(b";", 0, start), self.view.code.rfind(b"}", 0, start)) + 1
        code = self.view.code
        while head < start and code[head : head + 1].isspace():
            head += 1
        return head
