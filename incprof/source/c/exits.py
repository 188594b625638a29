"""Exits of a C function's body and its loops: every return, break, continue and goto, and macros that may hide some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from tree_sitter import Node

DEFINITION = re.compile(rb"[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(.*)", re.S)
COMMENT = re.compile(rb"//.*|/\*.*?(?:\*/|\Z)", re.S)
WORD = re.compile(rb"[A-Za-z_]\w*")
LEAVING = frozenset({b"return", b"goto", b"break", b"continue"})


@lru_cache(4)  # called for every function of a file
def macros_of(data: bytes) -> Mapping[bytes, bytes]:
    """Return the replacement of each macro that a file defines, with its parameters; all of them, if it has several."""
    replacements: dict[bytes, list[bytes]] = {}
    if b"define" not in data:
        return MappingProxyType({})
    for line in data.replace(b"\r\n", b"\n").replace(b"\\\n", b" ").split(b"\n"):
        match = DEFINITION.match(line) if b"define" in line else None
        if match:
            replacements.setdefault(match[1], []).append(COMMENT.sub(b" ", match[2]))
    return MappingProxyType({name: b" ".join(values) for name, values in replacements.items()})


@lru_cache(4)
def leaving_macros_of(data: bytes) -> frozenset[bytes]:
    """Return `leaving_macros` of a file's definitions."""
    return leaving_macros(macros_of(data))


def leaving_macros(macros: Mapping[bytes, bytes]) -> frozenset[bytes]:
    """Return the macros whose text contains a return, goto, break or continue, or another such macro."""
    users: dict[bytes, list[bytes]] = {}
    waiting = []
    for name, value in macros.items():
        words = set(WORD.findall(value))
        if words & LEAVING:
            waiting.append(name)
        for word in words & macros.keys():
            users.setdefault(word, []).append(name)
    leaving = set(waiting)
    while waiting:
        more = [name for name in users.get(waiting.pop(), ()) if name not in leaving]
        leaving.update(more)
        waiting += more
    return frozenset(leaving)


Span = tuple[int, int]

LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
# Functions to which control may return by longjmp.
SETJMP = frozenset({b"setjmp", b"_setjmp", b"sigsetjmp", b"__sigsetjmp", b"getcontext", b"swapcontext"})
# The keywords of exits and of switch targets, outside comments, strings and directives.
WORDS = re.compile(
    rb"""//(?:[^\\\n]|\\.)*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|^[ \t]*\#(?:/\*.*?\*/|[^\n\\]|\\.)*"""
    rb"|\b(?P<exit>return|goto|break|continue)\b|\b(?P<case>case|default)\b|(?P<open>/\*|[\"'])|\b(?P<name>[A-Za-z_]\w*)",
    re.S | re.M,
)
# Naming style of macros, which may contain a return.
SHOUTED = re.compile(rb"_*[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Exit:
    """A return, break, continue or goto statement.

    Attributes:
        statement: for a break or continue, the span of the statement that it leaves or continues; None if unclear.
        label: target of a goto.
    """

    node: Node
    statement: Span | None = None
    label: bytes = b""


@dataclass(slots=True)
class Exits:
    """Contents of a function's body, in source order, without those of nested functions.

    Attributes:
        cases: position of each case, and of its switch.
        shouted: calls and statements that look like macros.
        errors: parts that the parser could not read.
        nested: functions in it.
    """

    exits: list[Exit] = field(default_factory=list)
    labels: dict[bytes, list[int]] = field(default_factory=dict)
    cases: list[tuple[int, int | None]] = field(default_factory=list)
    shouted: list[tuple[int, bytes]] = field(default_factory=list)
    errors: list[Node] = field(default_factory=list)
    nested: list[Span] = field(default_factory=list)
    computed: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a node: the loop that a continue continues, and the loop or switch that a break leaves."""

    loop: Node | None = None
    breaks: Node | None = None
    switch: Node | None = None


def find_exits(body: Node, data: bytes) -> Exits:
    """Search a function's body."""
    exits = Exits()
    waiting = [(body, _Place())]
    while waiting:
        node, place = waiting.pop()
        if node.type == "function_definition":
            exits.nested.append((node.start_byte, node.end_byte))
            continue
        _record(exits, node, place, data)
        waiting += _inside(node, place)
    exits.exits.sort(key=lambda each: each.node.start_byte)
    return exits


def unlisted_exit(exits: Exits, data: bytes, span: Span, kind: str) -> int | None:
    """Return where the text has the keyword of an exit, or of a case, that is not in `exits`; None if nowhere.

    Such a keyword is in a part that the parser could not read, or did not get: a branch of an #if that is half a
    statement. A comment or string without an end hides all that follows.
    """
    listed = {exit_.node.start_byte for exit_ in exits.exits} | {node.start_byte for node in exits.computed}
    listed |= {case for case, _ in exits.cases}
    for match in WORDS.finditer(data, *span):
        at = match.start()
        if match.lastgroup == "open":
            return at
        if match.lastgroup == kind and at not in listed and not any(start <= at < end for start, end in exits.nested):
            return at
    return None


def first_name(names: AbstractSet[bytes], data: bytes, span: Span) -> int | None:
    """Return where one of the names first appears in the text, even where the parser could not read it."""
    words = WORDS.finditer(data, *span)
    return next((match.start() for match in words if match.lastgroup == "name" and match[0] in names), None)


def _inside(node: Node, place: _Place) -> Iterator[tuple[Node, _Place]]:
    """Yield the children, each with its context."""
    if node.type in LOOPS or node.type == "switch_statement":
        body = node.child_by_field_name("body")
        repeated = _Place(place.loop, node, node) if node.type == "switch_statement" else _Place(node, node)
        for child in node.children:
            # A break in a condition, in a statement expression, leaves one or the other loop, depending on the
            # compiler.
            yield child, repeated if child == body else _Place()
    else:
        for child in node.children:
            yield child, place


def _record(exits: Exits, node: Node, place: _Place, data: bytes) -> None:
    kind = node.type
    if kind in ("return_statement", "break_statement", "continue_statement"):
        exits.exits.append(Exit(node, _span({"b": place.breaks, "c": place.loop}.get(kind[0]))))
    elif kind == "goto_statement":
        _record_goto(exits, node, data)
    elif kind == "labeled_statement":
        label = node.child_by_field_name("label")
        exits.labels.setdefault(_text(label, data), []).append(node.start_byte)
    elif kind == "case_statement":
        exits.cases.append((node.start_byte, place.switch.start_byte if place.switch else None))
    elif kind == "gnu_asm_goto_list":
        exits.computed.append(node)
    elif kind == "expression_statement":
        _record_statement(exits, node, data)
    elif (node.is_error or node.is_missing) and (node.parent is None or node.parent.type != "goto_statement"):
        exits.errors.append(node)


def _record_goto(exits: Exits, node: Node, data: bytes) -> None:
    if any(child.is_error or child.type == "pointer_expression" for child in node.children):
        exits.computed.append(node)
    else:
        exits.exits.append(Exit(node, label=_text(node.child_by_field_name("label"), data)))


def _record_statement(exits: Exits, node: Node, data: bytes) -> None:
    """Record a statement that is a name in capitals, or a call of one."""
    inner: Node | None = node.child(0)
    if inner is not None and inner.type == "call_expression":
        inner = inner.child_by_field_name("function")
    if inner is not None and inner.type == "identifier" and SHOUTED.fullmatch(_text(inner, data)):
        exits.shouted.append((node.start_byte, _text(inner, data)))


def _span(node: Node | None) -> Span | None:
    return (node.start_byte, node.end_byte) if node is not None else None


def _text(node: Node | None, data: bytes) -> bytes:
    return data[node.start_byte : node.end_byte] if node is not None else b""


# Declare a variable for the result of a C function, derived from the function's own declaration.


RESULT = b"ekg_result_"

DROPPED = frozenset(
    "storage_class_specifier attribute_specifier attribute_declaration ms_declspec_modifier ms_call_modifier "
    "comment".split()
)
TAGGED = frozenset({"struct_specifier", "union_specifier", "enum_specifier"})
NAMED = frozenset({"primitive_type", "sized_type_specifier", "type_identifier"})
QUALIFIERS = frozenset({b"const", b"volatile", b"restrict", b"__restrict", b"__restrict__", b"__const"})
CAPITALS = re.compile(rb"[A-Z_][A-Z0-9_]*")
PLAIN_WORD = re.compile(rb"[A-Za-z_]\w*(?:\s+[A-Za-z_]\w*)*")
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
    innermost = None
    while node is not None and node.type != "identifier":
        if node.is_error:
            return None
        if node.type == "function_declarator":
            innermost = node
        inner = node.child_by_field_name("declarator")
        node = inner or next((each for each in node.named_children if each.type.endswith("declarator")), None)
        if inner is None and node is None and innermost is not None and innermost.type == "function_declarator":
            return innermost
    return innermost


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
    words = _without_macros(types, misread, macros)
    return words if isinstance(words, str) else [*(qualifiers if pointed else []), *words]


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
