"""Heartbeats in C and C++ as scope guards: one `EKG_SCOPE(id);` after the opening brace of the block.

The guard ends with its block, however that is left, so no exits have to be found. In C it is a declaration, and comes
before those of the block, as C90 requires.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tree_sitter import Node

from incprof.errors import IncprofError
from incprof.source.c.marks import inline_text, line, strip_c
from incprof.source.c.places import enclosed, include_at, insertions_after, insertions_before
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

    Args:
        file: From `parse_c`.
        beats: Any number; at most one per place.
        announce: The ids to announce: in main, or if the file has no main that accepts it, in a constructor.

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
