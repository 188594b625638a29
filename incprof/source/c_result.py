"""A variable for what a C function returns: its declaration, made of the function's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

Span = tuple[int, int]

RESULT = b"ekg_result_"

DROPPED = frozenset(
    {
        "storage_class_specifier",
        "attribute_specifier",
        "attribute_declaration",
        "ms_declspec_modifier",
        "ms_call_modifier",
        "comment",
    }
)
TAGGED = frozenset({"struct_specifier", "union_specifier", "enum_specifier"})
NAMED = frozenset({"primitive_type", "sized_type_specifier", "type_identifier"})
QUALIFIERS = frozenset({b"const", b"volatile", b"restrict", b"__restrict", b"__restrict__", b"__const"})
CAPITALS = re.compile(rb"[A-Z_][A-Z0-9_]*")
PLAIN_WORD = re.compile(rb"[A-Za-z_]\w*(?:\s+[A-Za-z_]\w*)*")
WORD = re.compile(rb"[A-Za-z_]\w*")
COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
IN_BRACKETS = re.compile(rb"\([^()]*\)")
KEYWORDS = frozenset(b"void char short int long float double signed unsigned struct union enum const".split())
# What tells that a macro is a part of a type, and not only of how a function is called or linked.
OF_A_TYPE = re.compile(rb"\b(?:%b|\w+_t)\b|\*" % b"|".join(sorted(KEYWORDS)))
# What a macro may not bring into the declaration of a variable.
NOT_OF_A_TYPE = re.compile(rb"\b(?:static|extern|inline|__inline\w*|register|__attribute\w*|__declspec|_Noreturn)\b")


def result_declaration(function: Node, data: bytes, macros: Mapping[bytes, bytes]) -> bytes | str:
    """Declares RESULT, which can hold what the function returns; a str is the reason why there is no such line."""
    declarator = function.child_by_field_name("declarator")
    called = _function_declarator(declarator)
    if declarator is None or called is None:
        return "what it returns cannot be made out"
    before = [child for child in function.children if child.end_byte <= declarator.start_byte]
    start = _start(function, data)
    if start is None:
        return "what it returns cannot be made out"
    macro = _unread_macro(before, data, (start, declarator.start_byte), macros)
    if macro is not None:
        return f"what it returns is written with the macro {macro.decode('utf-8', 'replace')}"
    words = _type_words(before, data, macros, pointed=declarator != called)
    if isinstance(words, str):
        return words
    line = b" ".join([*words, *_declarator_words(declarator, called, data)]) + b";"
    return line.replace(b"* ", b"*").replace(b"( ", b"(").replace(b" )", b")")


def _start(function: Node, data: bytes) -> int | None:
    """Where the text begins that belongs to no declaration before the function; None when one there has no end.

    There a parser has taken the first words of this one for a declaration of their own.
    """
    before = function.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    if before is None:
        return function.start_byte
    parent = before.parent
    if before.type.startswith(("preproc", "#")) or (
        parent is not None and parent.type.startswith("preproc") and parent.start_point.row == before.start_point.row
    ):
        return max(before.end_byte, data.rfind(b"\n", 0, function.start_byte) + 1)
    if data[before.end_byte - 1 : before.end_byte] not in (b";", b"}", b"{", b"\n"):
        return None
    return before.end_byte


def _unread_macro(children: list[Node], data: bytes, span: Span, macros: Mapping[bytes, bytes]) -> bytes | None:
    """A macro that the parser was not shown and that holds a part of the type."""
    spans = [(child.start_byte, child.end_byte) for child in children]
    bare = COMMENT.sub(lambda match: b" " * len(match[0]), data[slice(*span)])
    for match in WORD.finditer(bare):
        at, value = span[0] + match.start(), macros.get(match[0], b"")
        if any(start <= at < end for start, end in spans):
            continue
        if match[0] in KEYWORDS or OF_A_TYPE.search(IN_BRACKETS.sub(b"", IN_BRACKETS.sub(b"", value))):
            return match[0]
    return None


def _function_declarator(node: Node | None) -> Node | None:
    """The innermost function declarator: the one that has the function's name. None when an error hides it."""
    found = None
    while node is not None and node.type != "identifier":
        if node.is_error:
            return None
        if node.type == "function_declarator":
            found = node
        inner = node.child_by_field_name("declarator")
        node = inner or next((each for each in node.named_children if each.type.endswith("declarator")), None)
        if inner is None and node is None and found is not None and found.type == "function_declarator":
            return found
    return found


def _type_words(
    children: list[Node], data: bytes, macros: Mapping[bytes, bytes], *, pointed: bool
) -> list[bytes] | str:
    """The words of the type, its qualifiers only where it is pointed to: the variable is written to."""
    qualifiers, types, misread = [], [], []
    for child in children:
        text = data[child.start_byte : child.end_byte]
        if child.type in DROPPED:
            continue
        if child.is_error:
            misread.append(text)
        elif child.type == "type_qualifier":
            qualifiers += [text] if text in QUALIFIERS else []
        elif child.type in TAGGED:
            name = child.child_by_field_name("name")
            if name is None:
                return "it returns a type without a name"
            types.append(child.type.removesuffix("_specifier").encode() + b" " + data[name.start_byte : name.end_byte])
        elif child.type in NAMED:
            types.append(b" ".join(text.split()))
        else:
            return "what it returns is written with a macro"
    chosen = _without_macros(types, misread, macros)
    return chosen if isinstance(chosen, str) else [*(qualifiers if pointed else []), *chosen]


def _without_macros(types: list[bytes], misread: list[bytes], macros: Mapping[bytes, bytes]) -> list[bytes] | str:
    """The type; the parser takes a macro before it (`API int f()`) for the type, and the type for a mistake."""
    if misread:
        if len(types) != 1 or len(misread) != 1 or not PLAIN_WORD.fullmatch(misread[0]):
            return "what it returns cannot be made out"
        if not (CAPITALS.fullmatch(types[0]) or types[0] in macros):
            return "what it returns cannot be made out"
        types = misread
    for word in types:
        if NOT_OF_A_TYPE.search(macros.get(word, b"")):
            return f"what it returns is written with the macro {word.decode('utf-8', 'replace')}"
    return types or [b"int"]


def _declarator_words(declarator: Node, called: Node, data: bytes) -> list[bytes]:
    """The declarator's words with RESULT in the place of the function; of what it returns, not constant itself."""
    top = called.parent
    while top is not None and top.type == "parenthesized_declarator":
        top = top.parent
    words = []
    for leaf in _leaves(declarator, called):
        if leaf == called:
            words.append(RESULT)
        elif not (leaf.parent is not None and leaf.parent.type == "type_qualifier" and leaf.parent.parent == top):
            words.append(data[leaf.start_byte : leaf.end_byte])
    return words


def _leaves(node: Node, last: Node) -> Iterator[Node]:
    """The leaves in the order of the source, `last` as one of them; no comments and attributes."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node == last or not node.children:
            yield node
        else:
            waiting += [child for child in reversed(node.children) if child.type not in DROPPED]
