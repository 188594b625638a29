"""Heartbeats in C and C++ as scope guards: one `EKG_SCOPE(id);` after the opening brace of the block.

The guard ends with its block, however that is left, so no exits have to be found. In C it is a declaration, and comes
before those of the block, as C90 requires.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from tree_sitter import Node

from incprof.errors import IncprofError
from incprof.source.c.inserted_text import INCLUDE, after, before, inline_text, line, strip_c
from incprof.source.c.view import View, body_of, view_of
from incprof.source.model import (
    Announcement,
    Beat,
    Insertion,
    SourceFile,
    SourceFunction,
    demand_place,
    line_ending,
    removable,
)

# The first beat starts heartbeats by itself: names can come before.
CONSTRUCTOR = b"static void __attribute__((constructor)) ekg_announce_(void) {"

_DECLARATIONS = frozenset(
    {"declaration", "type_definition", "struct_specifier", "union_specifier", "enum_specifier", "comment"}
)


def scope_insertions(file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement] = ()) -> list[Insertion]:
    """Return the guards in each beat's block; in main also ekg_init and the ids' names.

    file: From `parse_c`. beats: Any number; at most one per place. announce: The ids to announce: in main, or if the
    file has no main that accepts it, in a constructor.

    Raises:
        IncprofError: A function or loop refuses its beat, or texts of the file look like ours.
    """
    insertions: list[Insertion] = []
    by_place = {(beat.function, beat.loop): beat for beat in beats}
    mains = [i for i, f in enumerate(file.functions) if f.is_main and f.refusal is None and announce]
    for position in mains:
        insertions += _in_main(file, file.functions[position], by_place.pop((position, None), None), announce)
    for beat in by_place.values():
        insertions += _in_block(file, beat)
    if not insertions and not announce:
        return []
    insertions.sort(key=_order)
    include = include_insertion(file, [each.offset for each in insertions])
    return removable(
        file, [include, *(_constructor(include, announce) if announce and not mains else []), *insertions], strip_c
    )


def _order(insertion: Insertion) -> tuple[int, int, int]:
    """Return the sort key of texts at one place: closing braces, inner first; then lines, then texts before a token."""
    text = insertion.text
    if text.lstrip().startswith(b"}"):
        return insertion.offset, 0, -len(text)
    return insertion.offset, 1 if text.endswith(b"\n") else 2, 0


def announcement_calls(announce: Sequence[Announcement]) -> list[bytes]:
    """Return ekg_init, and the name and rate of each id; each with its semicolon."""
    calls = [b"ekg_init(NULL);"] if announce else []
    for each in announce:
        calls.append(b'ekg_name(%d, "%b");' % (each.id, _quoted(each.name)))
        if each.rate_factor != 1:
            calls.append(b"ekg_rate(%d, %d);" % (each.id, each.rate_factor))
    return calls


def _constructor(include: Insertion, announce: Sequence[Announcement]) -> list[Insertion]:
    """Return a function that is called before main, right after the include line."""
    ending = line_ending(include.text)
    calls = [line(call, b"    ", ending) for call in announcement_calls(announce)[1:]]
    texts = [line(inline_text(CONSTRUCTOR), b"", ending), *calls, line(b"}", b"", ending)]
    return [Insertion(include.offset, text) for text in texts]


def include_insertion(file: SourceFile, sites: Sequence[int] = ()) -> Insertion:
    """Return the line that includes appekg.h: before all of these offsets, and visible at each of them.

    sites: offsets of the insertions; by default all functions of the file.
    """
    offsets = list(sites) or [function.node.start_byte for function in file.functions]
    return include_at(_view(file.data, file.language == "c++"), offsets)


# Both styles request this repeatedly for the same file.
@lru_cache(maxsize=1)
def _view(data: bytes, cpp: bool) -> View:
    return view_of(data, cpp=cpp)


def _in_block(file: SourceFile, beat: Beat) -> list[Insertion]:
    function = file.functions[beat.function]
    call = b"EKG_SCOPE(%d);" % beat.id
    demand_place(file, beat)
    place = function if beat.loop is None else function.loops[beat.loop]
    body = body_of(function.node) if isinstance(place, SourceFunction) else place.body
    if body is None:
        raise IncprofError(f"{file.path}:{place.line}: {function.name}: no beat can go here: it has no body")
    if body.type == "compound_statement":
        return insertions_after(file.data, body.start_byte + 1, [call])
    return enclosed(file.data, body.start_byte, body.end_byte, place.node.start_byte, [call])


def _in_main(
    file: SourceFile, main: SourceFunction, beat: Beat | None, announce: Sequence[Announcement]
) -> list[Insertion]:
    """Return names, and a beat of main itself, after the names; in C before the first statement, as C90 requires."""
    body = body_of(main.node)
    if body is None:
        raise IncprofError(f"{file.path}:{main.line}: main has no body to name heartbeats in")
    own = _in_block(file, beat) if beat is not None else []
    calls = announcement_calls(announce)
    if file.language == "c++":
        return [*insertions_after(file.data, body.start_byte + 1, calls), *own]
    return [*own, *_behind_declarations(file, body, calls)]


def _behind_declarations(file: SourceFile, body: Node, calls: Sequence[bytes]) -> list[Insertion]:
    """Return calls after the declarations at the start of a block, outside any branch of #if."""
    text = _view(file.data, False).text
    context = text.context(body.start_byte)
    last = body.start_byte + 1
    for child in body.children[1:]:
        if child.type not in _DECLARATIONS or child.has_error:
            if text.context(child.start_byte) == context and last != body.start_byte + 1:
                return insertions_before(file.data, child.start_byte, calls)
            break
        if child.type != "comment" and text.context(child.end_byte) == context:
            last = child.end_byte
    return insertions_after(file.data, last, calls)


def _quoted(name: str) -> bytes:
    """Return a name escaped for quotation marks in any source, whatever its encoding."""
    out = bytearray()
    for byte in name.encode("utf-8", "surrogateescape"):
        if byte in b'"\\':
            out += b"\\" + bytes([byte])
        elif byte == 0x3F and out.endswith(b"?"):
            out += b"\\?"  # avoids a trigraph
        else:
            out += bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte
    return bytes(out)


# Where lines can be inserted.


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
