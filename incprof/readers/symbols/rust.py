"""Names of Rust for people, as the author wrote them, from both kinds that its compiler has for linkers.

The older kind looks like a name of C++; the newer one is https://doc.rust-lang.org/rustc/symbol-mangling/v0.html.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incprof.readers.symbols.name_reader import UnknownNameError
from incprof.readers.symbols.rust_reader import Reader

# Of the older kind: a hash for the last part, and marks for what C++ has no characters for.
LEGACY = re.compile(r"_ZN.*17h[0-9a-f]{16}E(\..*)?")
HASH = re.compile(r"::h[0-9a-f]{16}\b")
MARK = re.compile(r"\$(LT|GT|LP|RP|RF|BP|SP|C|u[0-9a-f]{1,6})\$")
MARKS = {"LT": "<", "GT": ">", "LP": "(", "RP": ")", "RF": "&", "BP": "*", "SP": "@", "C": ","}
# Of the newer one.
BASIC = {
    "a": "i8", "s": "i16", "l": "i32", "x": "i64", "n": "i128", "i": "isize",
    "h": "u8", "t": "u16", "m": "u32", "y": "u64", "o": "u128", "j": "usize",
    "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "p": "_", "u": "()", "v": "...", "z": "!",
}  # fmt: skip
INTEGERS = frozenset("aslxnihtmyoj")
SPACES = {"C": "closure", "S": "shim"}
MOST_LIFETIMES = 100


def legacy_name(text: str) -> str:
    """A name of the older kind, from what the C++ runtime makes of it."""

    def character(match: re.Match[str]) -> str:
        mark, code = match[1], int(match[1][1:], 16) if match[1][0] == "u" else 0
        return MARKS.get(mark) or (chr(code) if _is_character(code) else match[0])

    plain = re.sub(r"(^|::)_\$", r"\1$", HASH.sub("", text))
    return MARK.sub(character, plain).replace("..", "::")


def name_of(mangled: str) -> str:
    """A name of the newer kind, such as `app::step::<f32>`; empty if it is none, or too long to be read."""
    name = _Name(mangled[2:] if mangled.startswith("_R") else "")
    try:
        text = name.path(in_value=True)
        if name.rest[:1].isupper():
            name.path(in_value=True)  # the crate that has asked for the code
    except UnknownNameError:
        return ""
    if name.rest and name.rest[0] not in ".$":
        return ""
    return f"{text} [clone {name.rest}]" if name.rest else text


def _is_character(code: int) -> bool:
    return code <= sys.maxunicode and not 0xD800 <= code < 0xE000


class _Name(Reader):
    """Each method is one part of the grammar, and returns it as people write it."""

    # How many are named around here.
    lifetimes = 0

    def path(self, *, in_value: bool) -> str:
        with self.part():
            tag = self.next()
            if tag == "C":
                self.optional("s")
                return self.identifier()
            if tag == "N":
                return self._inside(in_value)
            if tag in "MXY":
                return self._of_type(tag)
            if tag == "I":
                generic = self.path(in_value=in_value)
                return self.shown(f"{generic}{'::' * in_value}<{', '.join(self._list(self._argument))}>")
            if tag == "B":
                with self.earlier():
                    return self.path(in_value=in_value)
            raise UnknownNameError

    def _inside(self, in_value: bool) -> str:
        space, around = self.next(), self.path(in_value=in_value)
        number, name = self.optional("s"), self.identifier()
        if space.isupper():
            name = f"{{{SPACES.get(space, space)}{':' * bool(name)}{name}#{number}}}"
        return self.shown(f"{around}::{name}" if name else around)

    def _of_type(self, tag: str) -> str:
        if tag != "Y":
            self.optional("s")
            self.path(in_value=False)  # where it is implemented
        of = self._type()
        return self.shown(f"<{of}>" if tag == "M" else f"<{of} as {self.path(in_value=False)}>")

    def _argument(self) -> str:
        if self.eat("L"):
            return self._lifetime(self.number())
        return self._constant() if self.eat("K") else self._type()

    def _type(self) -> str:
        with self.part():
            tag = self.next()
            if tag in BASIC:
                return BASIC[tag]
            if tag == "B":
                with self.earlier():
                    return self._type()
            if tag in "RQPO":
                return self._pointer(tag)
            if tag == "A":
                return f"[{self._type()}; {self._constant()}]"
            if tag == "S":
                return f"[{self._type()}]"
            if tag == "T":
                parts = self._list(self._type)
                return self.shown(f"({', '.join(parts)}{',' * (len(parts) == 1)})")
            if tag == "F":
                return self._function()
            if tag == "D":
                return self._traits()
            self.at -= 1
            return self.path(in_value=False)

    def _pointer(self, tag: str) -> str:
        if tag in "PO":
            return f"*{'const' if tag == 'P' else 'mut'} {self._type()}"
        lifetime = self.number() if self.eat("L") else 0
        named = f"{self._lifetime(lifetime)} " if lifetime else ""
        return f"&{named}{'mut ' * (tag == 'Q')}{self._type()}"

    def _function(self) -> str:
        with self._binder() as binder:
            unsafe, abi = self.eat("U"), ""
            if self.eat("K"):
                abi = f'extern "{"C" if self.eat("C") else self.identifier().replace("_", "-")}" '
            arguments = ", ".join(self._list(self._type))
            result = "" if self.eat("u") else f" -> {self._type()}"
            return self.shown(f"{binder}{'unsafe ' * unsafe}{abi}fn({arguments}){result}")

    def _traits(self) -> str:
        with self._binder() as binder:
            bounds = " + ".join(self._list(self._trait))
        if not self.eat("L"):
            raise UnknownNameError
        lifetime = self.number()
        return self.shown(f"dyn {binder}{bounds}" + (f" + {self._lifetime(lifetime)}" if lifetime else ""))

    def _trait(self) -> str:
        text, bound = self.path(in_value=False), []
        while self.eat("p"):
            bound.append(f"{self.identifier()} = {self._type()}")
        if not bound:
            return text
        return text.removesuffix(">") + (", " if text.endswith(">") else "<") + ", ".join(bound) + ">"

    def _constant(self) -> str:
        with self.part():
            tag = self.next()
            if tag == "p":
                return "_"
            if tag == "B":
                with self.earlier():
                    return self._constant()
            minus = "-" * (tag in INTEGERS and self.eat("n"))
            digits = self.until_underscore()
            if not set(digits) <= set("0123456789abcdef"):
                raise UnknownNameError
            value = int(digits or "0", 16)
            if tag in INTEGERS:
                return f"{minus}{value}" if value < 1 << 64 else f"{minus}{value:#x}"
            if tag == "b" and value < 2:
                return "true" if value else "false"
            if tag == "c" and _is_character(value):
                return repr(chr(value))
            raise UnknownNameError

    def _list(self, part: Callable[[], str]) -> list[str]:
        parts = []
        while not self.eat("E"):
            parts.append(part())
        return parts

    def _lifetime(self, index: int) -> str:
        depth = self.lifetimes - index
        if depth < 0:
            raise UnknownNameError
        if index == 0:
            return "'_"
        return f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}"

    @contextmanager
    def _binder(self) -> Iterator[str]:
        number = self.optional("G")
        if number > MOST_LIFETIMES:
            raise UnknownNameError
        self.lifetimes += number
        names = ", ".join(self._lifetime(index) for index in range(number, 0, -1))
        yield f"for<{names}> " if number else ""
        self.lifetimes -= number
