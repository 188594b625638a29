"""Names of D for people: https://dlang.org/spec/abi.html#name_mangling, as compilers have made them since 2017.

Spelled as C++ would be, so that whoever takes names apart knows them: `Mesh<double>::sweep(int)` is what D writes as
`Mesh!(double).sweep(int)`.
"""

from __future__ import annotations

import re

from incprof.readers.symbols.dlang_reader import NUMBER, Reader
from incprof.readers.symbols.name_reader import UnknownNameError

# Where a program in D begins: its author has called that main.
ENTRY, MAIN = "_Dmain", "D main"
BASIC = {
    "v": "void", "g": "byte", "h": "ubyte", "s": "short", "t": "ushort", "i": "int", "k": "uint", "l": "long",
    "m": "ulong", "f": "float", "d": "double", "e": "real", "o": "ifloat", "p": "idouble", "j": "ireal", "q": "cfloat",
    "r": "cdouble", "c": "creal", "b": "bool", "a": "char", "u": "wchar", "w": "dchar", "n": "typeof(null)",
}  # fmt: skip
LONGER = {"zi": "cent", "zk": "ucent", "Nn": "noreturn"}
QUALIFIERS = {"x": "const", "y": "immutable", "O": "shared", "Ng": "inout"}
CALLS = {"F": "", "U": "extern(C) ", "W": "extern(Windows) ", "R": "extern(C++) ", "Y": "extern(Objective-C) "}
ATTRIBUTES = {
    "Na": "pure", "Nb": "nothrow", "Nc": "ref", "Nd": "@property", "Ne": "@trusted", "Nf": "@safe", "Ni": "@nogc",
    "Nj": "return", "Nl": "scope", "Nm": "@live",
}  # fmt: skip
STORAGE = {"J": "out", "K": "ref", "L": "lazy", "I": "in", "M": "scope", "Nk": "return"}
# How a list of parameters ends: as it is, with any number of them, with any number of the last one.
ENDS = {"Z": None, "Y": ", ...", "X": "..."}
# What compilers call what has no name of its own.
OWN_NAMES = {"__ctor": "this", "__dtor": "~this"}
FAKE_PARENT = re.compile("__S[0-9]+")
MARK = re.compile(r"\.[\w.]+")


def name_of(mangled: str) -> str:
    """The name of a function, such as `app::step<float>(ref int)`; empty if it is none, or too long to be read."""
    symbol, dot, _ = mangled.partition(".")
    mark = mangled[len(symbol) :]
    if dot and not MARK.fullmatch(mark):
        return ""
    if symbol == ENTRY:
        text = MAIN
    else:
        name = _Name(symbol.removeprefix("_D"))
        try:
            text = name.mangled()
        except UnknownNameError:
            return ""
        if name.rest:
            return ""
    return f"{text} [clone {mark}]" if mark else text


class _Name(Reader):
    """Each method is one part of the grammar, and returns it as people write it."""

    def mangled(self) -> str:
        """A name and what type it is of, which nobody needs to see: of a function, its parameters are in the name."""
        text = self._qualified(is_function=True)
        if not self.eat("Z"):
            self._type()
        return text

    def _qualified(self, *, is_function: bool) -> str:
        text, template = "", ""
        with self.part():
            while True:
                while self.eat("0"):  # what has no name
                    pass
                own, name = self._symbol()
                # A template of one thing of the same name is that thing.
                if name != template and not FAKE_PARENT.fullmatch(name):
                    text = self.shown(f"{text}::{name}" if text else name)
                template = own if own != name else ""
                if parameters := self._of_function(is_last=is_function):
                    text, template = self.shown(text + parameters), ""
                if not self._is_symbol():
                    return text

    def _is_symbol(self) -> bool:
        if self.rest.startswith(("__T", "__U")):
            return True
        if self.peek != "Q":
            return self.peek.isdecimal()
        here = self.at
        with self.back():
            found = self.peek.isdecimal()
        self.at = here
        return found

    def _symbol(self) -> tuple[str, str]:
        """A name without, and with its template arguments."""
        with self.part():
            if self.peek == "Q":
                with self.back():
                    found = self._identifier()
                return found, found
            if self.eat("__T") or self.eat("__U"):
                return self._template()
            length = self.number()
            if self.rest.startswith(("__T", "__U")):  # with the length of all of it, as it was once
                end = self.at + length
                self.take(3)
                found_both = self._template()
                if self.at != end:
                    raise UnknownNameError
                return found_both
            name = self._own_name(self.take(length))
            return name, name

    def _identifier(self) -> str:
        return self._own_name(self.take(self.number()))

    def _own_name(self, name: str) -> str:
        if name == "__postblit" and self.eat("MFZ"):
            return "this(this)"
        return OWN_NAMES.get(name, name)

    def _template(self) -> tuple[str, str]:
        name, _ = self._symbol()
        arguments = ", ".join(self.until("Z", self._argument))
        return name, self.shown(f"{name}<{arguments}>")

    def _argument(self) -> str:
        self.eat("H")  # a specialised one
        tag = self.next()
        if tag == "T":
            return self._type()
        if tag == "V":
            kind = self.letter()
            return self._value(self._type(), kind)
        if tag == "S":
            return self._alias()
        if tag == "X":  # of another language
            return self.take(self.number())
        raise UnknownNameError

    def _alias(self) -> str:
        if self.eat("_D"):
            return self.mangled()
        if length := NUMBER.match(self._text, self.at):
            here, end = self.at, length.end() + int(length[0])
            self.at = length.end()
            if self.eat("_D"):  # with its length, as it was once
                text = self.mangled()
                if self.at == end:
                    return text
            self.at = here
        return self._qualified(is_function=False)

    def _of_function(self, *, is_last: bool) -> str:
        """The parameters of a function that something is in, or that a name ends with, and what `this` is to it."""
        start = self.at
        qualifiers = self.words(QUALIFIERS) if self.eat("M") else []
        if self.peek in CALLS:
            self.next()
            self.words(ATTRIBUTES)
            text = f"({self._parameters()})"
            if self._is_symbol():
                return text
            if is_last and self.rest:
                return " ".join([text, *qualifiers])
        self.at = start  # a pointer to one, or the type of a variable
        return ""

    def _parameters(self) -> str:
        found: list[str] = []
        while self.peek not in ENDS:
            found.append(" ".join([*self.words(STORAGE), self._type()]))
        end = ENDS[self.next()]
        text = ", ".join(found)
        return self.shown(text if end is None else (text + end).removeprefix(", "))

    def _type(self) -> str:
        with self.part():
            if self.peek == "Q":
                with self.back():
                    return self._type()
            for tag, word in QUALIFIERS.items():
                if self.eat(tag):
                    return self.shown(f"{word}({self._type()})")
            for tag, word in LONGER.items():
                if self.eat(tag):
                    return word
            if self.eat("Nh"):
                return self.shown(f"__vector({self._type()})")
            tag = self.next()
            if tag in BASIC:
                return BASIC[tag]
            if tag in "CSETI":
                return self._qualified(is_function=False)
            return self.shown(self._composed(tag))

    def _composed(self, tag: str) -> str:
        if tag == "A":
            return f"{self._type()}[]"
        if tag == "G":
            length = self.number()
            return f"{self._type()}[{length}]"
        if tag == "H":
            key = self._type()
            return f"{self._type()}[{key}]"
        if tag == "P":
            return f"{self._type()} function" if self.peek in CALLS else f"{self._type()}*"
        if tag == "D":
            after = self.words(QUALIFIERS)
            return " ".join([self._type(), "delegate", *after])
        if tag == "B":
            return f"Tuple<{', '.join(self._type() for _ in range(self.number()))}>"
        if tag in CALLS:
            attributes = self.words(ATTRIBUTES)
            parameters = self._parameters()
            return " ".join([f"{CALLS[tag]}{self._type()}({parameters})", *attributes])
        raise UnknownNameError

    def _value(self, type_text: str, kind: str) -> str:
        """A value that is an argument of a template, of a type that has this letter."""
        with self.part():
            if self.peek.isdecimal() or self.eat("i"):
                return self.integer(kind)
            tag = self.next()
            if tag == "n":
                return "null"
            if tag == "N":
                return f"-{self.integer(kind)}"
            if tag == "e":
                return self.real()
            if tag == "c":
                real = self.real()
                if not self.eat("c"):
                    raise UnknownNameError
                return f"{real}+{self.real()}i"
            if tag in "awd":
                return self.string(tag)
            if tag == "A":
                return f"[{', '.join(self._values(2 if kind == 'H' else 1))}]"
            if tag == "S":
                return f"{type_text}({', '.join(self._values(1))})"
            if tag == "f" and self.eat("_D"):
                return self.mangled()
            raise UnknownNameError

    def _values(self, of_each: int) -> list[str]:
        """Values, or pairs of a key and a value."""
        return [self.shown(":".join(self._value("", "") for _ in range(of_each))) for _ in range(self.number())]
