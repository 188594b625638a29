"""The parser's view of a C or C++ file: the file with blanks where a grammar would fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import tree_sitter_c
import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from incprof.source.c.blocks import Blocks, find_blocks
from incprof.source.c.mask import macros_in, named_macros
from incprof.source.c.text import Text, blanks, kept_and_dropped, read_text
from incprof.source.parsing import parse_within_limits

_DEFINITION = re.compile(rb"\s*#\s*define\s+([A-Za-z_]\w*)(.*)", re.S)
_GOTO = re.compile(rb"\bgoto\s+([A-Za-z_]\w*)")
_NESTED = re.compile(rb"\{.*\}|\([^()]*\)", re.S)
_EMPTY_STATEMENT = re.compile(rb"\s*;")


@dataclass(frozen=True)
class View:
    """A file as it is parsed; all texts have its length.

    Attributes:
        text: directives and their conditionals.
        code: the file without comments, strings, directives, dropped branches, and macros named by the user.
        seen: the file without directives, dropped branches, and macros.
        macros: names of the file's macros that may expand to more than one statement.
        macro_labels: the labels that these jump to.
    """

    data: bytes
    text: Text
    code: bytes
    seen: bytes
    blocks: Blocks
    macros: frozenset[bytes]
    macro_labels: frozenset[bytes]
    cpp: bool


def view_of(data: bytes, *, cpp: bool, blank: Sequence[str] = ()) -> View:
    """Read a file. blank: macros hidden from the parser, with their arguments."""
    text = read_text(data, cpp=cpp)
    out = list(kept_and_dropped(text))
    code = without(text.bare, out)
    named = named_macros(code, blank)
    code = without(code, named)
    blocks = find_blocks(code, cpp=cpp)
    macros = [span for start, end in blocks.declarations for span in macros_in(code, start, end, cpp=cpp)]
    semicolons = list(_after_bodies(code, blocks)) if cpp else []
    seen = without(data, [*text.directives, *out, *named, *macros, *semicolons])
    return View(data, text, code, seen, blocks, *_macros(data, text), cpp)


def _macros(data: bytes, text: Text) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return macros with a semicolon outside braces and parentheses, not at the end; and labels that macros jump to."""
    several, labels = set(), set()
    for start, end in text.directives:
        match = _DEFINITION.match(data, start, end)
        if match:
            if b";" in _NESTED.sub(b"", match[2]).strip(b" ;\t\r\n\\"):
                several.add(match[1])
            labels.update(_GOTO.findall(match[2]))
    return frozenset(several), frozenset(labels)


def _after_bodies(code: bytes, blocks: Blocks) -> Iterable[tuple[int, int]]:
    """Yield the semicolon in `void f() {};`, with which the parser would take the braces for an initialiser."""
    for block in blocks.bodies.values():
        match = _EMPTY_STATEMENT.match(code, block.end or 0)
        if block.end and match and not code[block.start + 1 : block.end - 1].strip():
            yield match.end() - 1, match.end()


def without(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """Return the text with blanks in place of these bytes."""
    out = bytearray(data)
    for start, end in spans:
        out[start:end] = blanks(bytes(out[start:end]))
    return bytes(out)


@cache
def language(cpp: bool) -> Language:
    """Return the grammar."""
    return Language(tree_sitter_cpp.language() if cpp else tree_sitter_c.language())


def parse(view: View) -> Node:
    """Return the tree of a whole file; an empty one if that would take too long."""
    tree = parse_within_limits(language(view.cpp), view.seen)
    return (tree or Parser(language(view.cpp)).parse(b"")).root_node


def body_of(node: Node) -> Node | None:
    """Return the block of a function or lambda; the one after `try` if it is a function try block."""
    body = node.child_by_field_name("body")
    if body is None:  # a constructor: try : member(1) { }
        body = next((child for child in node.children if child.type.endswith("try_statement")), None)
    if body is not None and body.type.endswith("try_statement"):
        body = body.child_by_field_name("body")
    return body if body is not None and body.type == "compound_statement" else None
