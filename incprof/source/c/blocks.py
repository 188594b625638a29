"""Braces of a C or C++ file, and the kind of those outside functions: found without a grammar.

A parser that meets an unknown construct may misread others. Its result for a function is accepted only if its braces
are the ones found here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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
    found = Blocks()
    stack: list[_Open] = []
    head = parens = 0
    outside = True  # outside functions and data
    for token in _TOKEN.finditer(code):
        at, which = token.start(), token[0]
        if which == b"{":
            kind, name = _kind(code[head:at], cpp) if outside and parens == 0 else ("inner", ())
            stack.append(_Open(at, head, kind, name, parens, outside))
            if kind == "body" or (cpp and kind in ("space", "record")):
                found.declarations.append((head, at))
            outside = outside and kind in ("space", "record")
            head = at + 1 if outside else head
            parens = 0
        elif which == b"}":
            if not stack:
                continue
            block = stack.pop()
            found.closing[block.start] = at
            parens = block.parens
            if block.kind == "body":
                found.bodies[block.start] = Block(block.head, block.start, at + 1, "body", _names(stack))
            outside = block.outside
            if block.kind != "inner":
                head = at + 1
        elif which == b"(":
            parens += 1
        elif which == b")":
            parens = max(0, parens - 1)
        elif outside and parens == 0:
            found.declarations.append((head, at))
            head = at + 1
    return found


def _names(stack: list[_Open]) -> tuple[str, ...]:
    return tuple(name for block in stack for name in block.name)


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


def _record_name(rest: bytes) -> tuple[str, ...]:
    """Return the name in `class EXPORT(x) Mesh final : public Base`."""
    before = re.split(rb"(?<!:):(?!:)", rest, maxsplit=1)[0]
    words = [word for word in _NAME.findall(re.sub(rb"\([^()]*\)|<[^<>]*>", b" ", before)) if word != b"final"]
    return (words[-1].decode(),) if words else ()
