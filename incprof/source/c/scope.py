"""Heartbeats in C and C++ as scope guards: one `EKG_SCOPE(id);` behind the opening brace of what beats.

The guard ends with its block, by whatever way that is left, so no exit has to be looked for. In C it is a declaration,
and comes before those of the block, as C90 wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tree_sitter import Node

from incprof.errors import IncprofError
from incprof.source.c.marks import line, strip_c, within
from incprof.source.c.places import ahead, behind, enclosed, include_at
from incprof.source.c.view import View, body_of, view_of
from incprof.source.edits import insert
from incprof.source.model import Announcement, Beat, Insertion, SourceFile, SourceFunction

# The first beat starts heartbeats by itself: names can come before.
CONSTRUCTOR = b"static void __attribute__((constructor)) ekg_announce_(void) {"

_DECLARATIONS = frozenset(
    {"declaration", "type_definition", "struct_specifier", "union_specifier", "enum_specifier", "comment"}
)


def scope_insertions(file: SourceFile, beats: Sequence[Beat], announce: Sequence[Announcement] = ()) -> list[Insertion]:
    """What puts a guard into each beat's block; in main also ekg_init and what the ids are called.

    Args:
        file: As `parse_c` gave it.
        beats: Any number; of one place there may be one.
        announce: What is said of ids: in main, or where the file has none that takes it, in a constructor.

    Raises:
        IncprofError: A function or loop refuses its beat, or texts of the file look like ours.
    """
    made: list[Insertion] = []
    by_place = {(beat.function, beat.loop): beat for beat in beats}
    mains = [i for i, f in enumerate(file.functions) if f.is_main and f.refusal is None and announce]
    for position in mains:
        made += _in_main(file, file.functions[position], by_place.pop((position, None), None), announce)
    for beat in by_place.values():
        made += _in_block(file, beat)
    if not made and not announce:
        return []
    made.sort(key=_order)
    include = include_insertion(file, [each.offset for each in made])
    made = [include, *(_constructor(include, announce) if announce and not mains else []), *made]
    if strip_c(insert(file.data, made)) != file.data:
        raise IncprofError(f"{file.path}: text in it looks like generated heartbeats, which could not be removed again")
    return made


def _order(insertion: Insertion) -> tuple[int, int, int]:
    """Sorts texts at one place: braces that close, inner ones first; then lines, then what is before a token."""
    text = insertion.text
    if text.lstrip().startswith(b"}"):
        return insertion.offset, 0, -len(text)
    return insertion.offset, 1 if text.endswith(b"\n") else 2, 0


def announcement_calls(announce: Sequence[Announcement]) -> list[bytes]:
    """ekg_init, and what each id is called and how often it is recorded; each with its semicolon."""
    calls = [b"ekg_init(NULL);"] if announce else []
    for each in announce:
        calls.append(b'ekg_name(%d, "%b");' % (each.id, _quoted(each.name)))
        if each.rate_factor != 1:
            calls.append(b"ekg_rate(%d, %d);" % (each.id, each.rate_factor))
    return calls


def _constructor(include: Insertion, announce: Sequence[Announcement]) -> list[Insertion]:
    """A function that is called before main, right behind the include line."""
    ending = b"\r\n" if include.text.endswith(b"\r\n") else b"\n"
    calls = [line(call, b"    ", ending) for call in announcement_calls(announce)[1:]]
    texts = [line(within(CONSTRUCTOR), b"", ending), *calls, line(b"}", b"", ending)]
    return [Insertion(include.offset, text) for text in texts]


def include_insertion(file: SourceFile, sites: Sequence[int] = ()) -> Insertion:
    """The line that includes appekg.h: before all of these offsets, and seen wherever one of them is.

    sites: where something is put in; all functions of the file unless given.
    """
    offsets = list(sites) or [function.node.start_byte for function in file.functions]
    return include_at(_view(file.data, file.language == "c++"), offsets)


# Both styles ask for the same file's again and again.
@lru_cache(maxsize=1)
def _view(data: bytes, cpp: bool) -> View:
    return view_of(data, cpp=cpp)


def _in_block(file: SourceFile, beat: Beat) -> list[Insertion]:
    function = file.functions[beat.function]
    call = b"EKG_SCOPE(%d);" % beat.id
    if beat.loop is None:
        body, at, reason = body_of(function.node), function.line, function.refusal
        outer = function.node.start_byte
    else:
        loop = function.loops[beat.loop]
        body, at, reason = loop.body, loop.line, loop.refusal
        outer = loop.node.start_byte
    if reason is not None or body is None:
        raise IncprofError(f"{file.path}:{at}: {function.name}: no beat can go here: {reason or 'it has no body'}")
    if body.type == "compound_statement":
        return behind(file.data, body.start_byte + 1, [call])
    return enclosed(file.data, body.start_byte, body.end_byte, outer, [call])


def _in_main(
    file: SourceFile, main: SourceFunction, beat: Beat | None, announce: Sequence[Announcement]
) -> list[Insertion]:
    """Names, and a beat of main itself: behind the names, but in C before the first statement, as C90 wants it."""
    body = body_of(main.node)
    if body is None:
        raise IncprofError(f"{file.path}:{main.line}: main has no body to name heartbeats in")
    own = _in_block(file, beat) if beat is not None else []
    calls = announcement_calls(announce)
    if file.language == "c++":
        return [*behind(file.data, body.start_byte + 1, calls), *own]
    return [*own, *_behind_declarations(file, body, calls)]


def _behind_declarations(file: SourceFile, body: Node, calls: Sequence[bytes]) -> list[Insertion]:
    """Behind the declarations that a block starts with, in no branch of #if."""
    text = _view(file.data, False).text
    context = text.context(body.start_byte)
    last = body.start_byte + 1
    for child in body.children[1:]:
        if child.type not in _DECLARATIONS or child.has_error:
            if text.context(child.start_byte) == context and last != body.start_byte + 1:
                return ahead(file.data, child.start_byte, calls)
            break
        if child.type != "comment" and text.context(child.end_byte) == context:
            last = child.end_byte
    return behind(file.data, last, calls)


def _quoted(name: str) -> bytes:
    """What may stand between quotation marks in any source, whatever its encoding."""
    out = bytearray()
    for byte in name.encode("utf-8", "surrogateescape"):
        if byte in b'"\\':
            out += b"\\" + bytes([byte])
        elif byte == 0x3F and out.endswith(b"?"):
            out += b"\\?"  # no trigraph
        else:
            out += bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte
    return bytes(out)
