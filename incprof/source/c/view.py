"""The parser's view of a C or C++ file: the file with blanks where a grammar would fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import tree_sitter_c
import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from incprof.source.c.mask import macros_in, named_macros
from incprof.source.c.preprocessed import Text, blanks, kept_and_dropped, read_text
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
        masked: the file without directives, dropped branches, and macros.
        macros: names of the file's macros that may expand to more than one statement.
        macro_labels: the labels that these jump to.
    """

    data: bytes
    text: Text
    code: bytes
    masked: bytes
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
    masked = without(data, [*text.directives, *out, *named, *macros, *semicolons])
    return View(data, text, code, masked, blocks, *_macros(data, text), cpp)


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
    tree = parse_within_limits(language(view.cpp), view.masked)
    return (tree or Parser(language(view.cpp)).parse(b"")).root_node


def body_of(node: Node) -> Node | None:
    """Return the block of a function or lambda; the one after `try` if it is a function try block."""
    body = node.child_by_field_name("body")
    if body is None:  # a constructor: try : member(1) { }
        body = next((child for child in node.children if child.type.endswith("try_statement")), None)
    if body is not None and body.type.endswith("try_statement"):
        body = body.child_by_field_name("body")
    return body if body is not None and body.type == "compound_statement" else None


# Braces of a C or C++ file, and the kind of those outside functions: found without a grammar.
#
# A parser that meets an unknown construct may misread others. Its result for a function is accepted only if its
# braces are the ones found here.


_TOKEN = re.compile(rb"[{}();]")
# Tokens that may appear between a function's parameters and its body.
_AFTER_PARAMETERS = re.compile(
    rb"\)(?:\s|const\b|volatile\b|noexcept\b|override\b|final\b|try\b|mutable\b|&)*+\Z", re.S
)
_NAMESPACE = re.compile(rb"(?:[\s\w]*\s)?(?:inline\s+)?namespace\b([\w\s:]*)\Z")
_LINKAGE = re.compile(rb'\s*extern\s*"[^"]*"\s*\Z')
_RECORD = re.compile(rb"\b(class|struct|union)\b([^{;=]*)\Z", re.S)
_NAME = re.compile(rb"[A-Za-z_]\w*")
_ENUM = re.compile(rb"(?:\A|[\s;])enum\b[^()]*\Z", re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """Braces outside any function.

    Attributes:
        head: start of the text before them, after the last semicolon or brace.
        start: offset of the opening brace.
        end: offset after the closing brace; None if there is none.
        kind: "body" for a function or what looks like one.
        names: enclosing names.
    """

    head: int
    start: int
    end: int | None
    kind: str
    names: tuple[str, ...]


@dataclass(slots=True)
class Blocks:
    """The braces of a file.

    Attributes:
        closing: offset of the closing brace by that of its opening brace.
        bodies: function bodies, by offset.
        declarations: first byte of each declaration, and the one after its semicolon or function body.
    """

    closing: dict[int, int] = field(default_factory=dict)
    bodies: dict[int, Block] = field(default_factory=dict)
    declarations: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    start: int
    head: int
    kind: str
    name: tuple[str, ...]
    parens: int  # open before it
    outside: bool  # outside functions and data


def find_blocks(code: bytes, *, cpp: bool) -> Blocks:
    """Match braces. code: a file without comments, contents of strings, and directives."""
    blocks = Blocks()
    stack: list[_Open] = []
    head = parens = 0
    outside = True  # outside functions and data
    for token in _TOKEN.finditer(code):
        at, which = token.start(), token[0]
        if which == b"{":
            kind, name = _kind(code[head:at], cpp) if outside and parens == 0 else ("inner", ())
            stack.append(_Open(at, head, kind, name, parens, outside))
            if kind == "body" or (cpp and kind in ("space", "record")):
                blocks.declarations.append((head, at))
            outside = outside and kind in ("space", "record")
            head = at + 1 if outside else head
            parens = 0
        elif which == b"}":
            if not stack:
                continue
            block = stack.pop()
            blocks.closing[block.start] = at
            parens = block.parens
            if block.kind == "body":
                blocks.bodies[block.start] = Block(
                    block.head, block.start, at + 1, "body", tuple(name for block in stack for name in block.name)
                )
            outside = block.outside
            if block.kind != "inner":
                head = at + 1
        elif which == b"(":
            parens += 1
        elif which == b")":
            parens = max(0, parens - 1)
        elif outside and parens == 0:
            blocks.declarations.append((head, at))
            head = at + 1
    return blocks


def _kind(head: bytes, cpp: bool) -> tuple[str, tuple[str, ...]]:
    """Return the kind of braces ("space", "record", "data" or "body"), from the text before them, and their names."""
    if _LINKAGE.match(head):
        return "space", ()
    space = _NAMESPACE.match(head)
    if space and cpp:
        names = [word.decode() for word in _NAME.findall(space[1])]
        return "space", tuple(names) or ("(anonymous namespace)",)
    last = head.rstrip()
    if _ENUM.search(head) or (last.endswith((b"=", b",", b"]")) and not last.endswith(b"operator=")):
        return "data", ()
    record = _RECORD.search(head)
    if record and not _AFTER_PARAMETERS.search(head) and b"->" not in record[2]:
        return ("record" if cpp else "data"), _record_name(record[2])
    return "body", ()


def _record_name(head: bytes) -> tuple[str, ...]:
    """Return the name in `class EXPORT(x) Mesh final : public Base`."""
    before = re.split(rb"(?<!:):(?!:)", head, maxsplit=1)[0]
    words = [word for word in _NAME.findall(re.sub(rb"\([^()]*\)|<[^<>]*>", b" ", before)) if word != b"final"]
    return (words[-1].decode(),) if words else ()
