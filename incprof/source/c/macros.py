"""The macros that C files define, and those among them that may leave the function or loop in which they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

DEFINITION = re.compile(rb"[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(.*)", re.S)
COMMENT = re.compile(rb"//.*|/\*.*?(?:\*/|\Z)", re.S)
WORD = re.compile(rb"[A-Za-z_]\w*")
LEAVING = frozenset({b"return", b"goto", b"break", b"continue"})


@lru_cache(4)  # called for every function of a file
def macros_of(data: bytes) -> Mapping[bytes, bytes]:
    """Return the replacement of each macro that a file defines, with its parameters; all of them, if it has several."""
    found: dict[bytes, list[bytes]] = {}
    if b"define" not in data:
        return MappingProxyType({})
    for line in data.replace(b"\r\n", b"\n").replace(b"\\\n", b" ").split(b"\n"):
        match = DEFINITION.match(line) if b"define" in line else None
        if match:
            found.setdefault(match[1], []).append(COMMENT.sub(b" ", match[2]))
    return MappingProxyType({name: b" ".join(values) for name, values in found.items()})


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
    found = set(waiting)
    while waiting:
        more = [name for name in users.get(waiting.pop(), ()) if name not in found]
        found.update(more)
        waiting += more
    return frozenset(found)
