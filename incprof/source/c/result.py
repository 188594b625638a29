"""Declare a variable for the result of a C function, derived from the function's own declaration."""

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
# Ends of the text before a function, and how far back they are searched.
ENDS = re.compile(rb"[;{}]|^[ \t]*#.*$", re.M)
MOST_BEFORE = 4000
NO_WORDS = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"[^\"\n]*\"|__attribute(?:__)?\s*\(\([^;{}]*?\)\)|__declspec\s*\([^()]*\)", re.S
)
STORAGE = frozenset(b"static extern inline __inline __inline__ register auto __extension__".split())
IN_BRACKETS = re.compile(rb"\([^()]*\)")
KEYWORDS = frozenset(b"void char short int long float double signed unsigned struct union enum const".split())
# Signs that a macro is a part of a type, not only of a calling convention or linkage.
OF_A_TYPE = re.compile(rb"\b(?:%b|\w+_t)\b|\*" % b"|".join(sorted(KEYWORDS)))
# Words that a macro must not contribute to the declaration of a variable.
NOT_OF_A_TYPE = re.compile(rb"\b(?:static|extern|inline|__inline\w*|register|__attribute\w*|__declspec|_Noreturn)\b")


def result_declaration(function: Node, data: bytes, macros: Mapping[bytes, bytes]) -> bytes | str:
    """Return a declaration of RESULT, which can hold the function's result; a str is the reason why there is none."""
    declarator = function.child_by_field_name("declarator")
    called = _function_declarator(declarator)
    if declarator is None or called is None:
        return "its return type cannot be determined"
    before = [child for child in function.children if child.end_byte <= declarator.start_byte]
    refusal = _refusal_of_unread(before, data, (_start(function, data), declarator.start_byte), macros)
    if refusal is not None:
        return refusal
    words = _type_words(before, data, macros, pointed=declarator != called)
    if isinstance(words, str):
        return words
    line = b" ".join([*words, *_declarator_words(declarator, called, data)]) + b";"
    return line.replace(b"* ", b"*").replace(b"( ", b"(").replace(b" )", b")")


def _start(function: Node, data: bytes) -> int:
    """Return the start of the text that belongs to the function."""
    start = max(0, function.start_byte - MOST_BEFORE)
    closing = data.find(b"*/", start, function.start_byte)
    if closing >= 0 and data.find(b"/*", start, closing) < 0:
        start = closing + 2
    bare = NO_WORDS.sub(lambda match: b" " * len(match[0]), data[start : function.start_byte])
    return start + max((match.end() for match in ENDS.finditer(bare)), default=0)


def _refusal_of_unread(children: list[Node], data: bytes, span: Span, macros: Mapping[bytes, bytes]) -> str | None:
    """Return why the type may differ from the parsed one: the parser does not expand macros, and may start too late."""
    spans = [(child.start_byte, child.end_byte) for child in children]
    typed = any(child.type not in DROPPED and child.type != "type_qualifier" for child in children)
    bare = NO_WORDS.sub(lambda match: b" " * len(match[0]), data[slice(*span)])
    for match in WORD.finditer(bare):
        at, word = span[0] + match.start(), match[0]
        if any(start <= at < end for start, end in spans):
            continue
        value = IN_BRACKETS.sub(b"", IN_BRACKETS.sub(b"", macros.get(word, b"")))
        if word in KEYWORDS or OF_A_TYPE.search(value):
            return f"its return type uses the macro {word.decode('utf-8', 'replace')}"
        if not typed and word not in STORAGE and word not in macros:
            return "its return type cannot be determined"
    return None


def _function_declarator(node: Node | None) -> Node | None:
    """Return the innermost function declarator, which has the function's name. None if an error hides it."""
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
    """Return the words of the type, with qualifiers only on pointed-to types: the variable is written to."""
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
            types.append(b" ".join(data[leaf.start_byte : leaf.end_byte] for leaf in _leaves(child)))
        else:
            return "its return type uses a macro"
    chosen = _without_macros(types, misread, macros)
    return chosen if isinstance(chosen, str) else [*(qualifiers if pointed else []), *chosen]


def _without_macros(types: list[bytes], misread: list[bytes], macros: Mapping[bytes, bytes]) -> list[bytes] | str:
    """Return the type; the parser takes a macro before it (`API int f()`) for the type, and the type for an error."""
    if misread:
        if len(types) != 1 or len(misread) != 1 or not PLAIN_WORD.fullmatch(misread[0]):
            return "its return type cannot be determined"
        if not (CAPITALS.fullmatch(types[0]) or types[0] in macros):
            return "its return type cannot be determined"
        types = misread
    for word in types:
        if NOT_OF_A_TYPE.search(macros.get(word, b"")):
            return f"its return type uses the macro {word.decode('utf-8', 'replace')}"
    return types or [b"int"]


def _declarator_words(declarator: Node, called: Node, data: bytes) -> list[bytes]:
    """Return the declarator's words with RESULT in place of the function, without const on the result itself."""
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


def _leaves(node: Node, last: Node | None = None) -> Iterator[Node]:
    """Yield the leaves in source order, `last` as one of them; no comments and attributes."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node == last or not node.children:
            yield node
        else:
            waiting += [child for child in reversed(node.children) if child.type not in DROPPED]
