"""Names of C and C++ functions, as written in the source."""

from __future__ import annotations

import re

from tree_sitter import Node

_NAMES = frozenset({"identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name"})
_AFTER_CONVERSION = re.compile(r"\s*\(.*", re.S)
_NO_NAMES = frozenset("if else for while do switch return namespace void int struct class sizeof catch".split())
_SPACE = re.compile(r"\s+")


def function_name(node: Node, seen: bytes) -> str:
    """Return the name in a definition, qualified as written, without template arguments; "" if there is none.

    seen: the file as it was parsed.
    """
    now = node.child_by_field_name("declarator")
    while (
        now is not None
        and now.type not in _NAMES
        and now.type
        not in (
            "qualified_identifier",
            "template_function",
            "operator_cast",
        )
    ):
        inner = now.child_by_field_name("declarator")
        # In some grammars, a pointer's or reference's declarator has no field.
        now = (
            inner
            if inner is not None
            else next((c for c in now.named_children if "declarator" in c.type), None)
            or (next((child for child in now.named_children if child.type in _NAMES), None))
        )
    name = _spelled(now, seen) if now is not None else ""
    return "" if name in _NO_NAMES else name


def record_name(node: Node, seen: bytes) -> str:
    """Return the name of a class; "" if it has none."""
    name = node.child_by_field_name("name")
    return _spelled(name, seen) if name is not None else ""


def _spelled(node: Node, seen: bytes) -> str:
    text = seen[node.start_byte : node.end_byte].decode("utf-8", "replace")
    at = text.find("operator")
    if at >= 0 and not text[at + 8 : at + 9].isidentifier():
        rest = text[at + 8 :]
        conversion = rest.strip()[:1].isidentifier() and not rest.strip().startswith(("new", "delete", "co_await"))
        rest = _AFTER_CONVERSION.sub("", rest) if conversion else rest
        blank = " " if rest.strip()[:1].isidentifier() else ""
        return without_arguments(text[:at]) + "operator" + blank + _SPACE.sub(blank, rest.strip())
    return without_arguments(text)


def without_arguments(text: str) -> str:
    """Return `Mesh<T>::smooth` without angle brackets and their contents, and without blanks."""
    kept, depth = [], 0
    for char in text:
        depth += char == "<"
        if depth == 0 and not char.isspace():
            kept.append(char)
        depth -= char == ">" and depth > 0
    return "".join(kept)
