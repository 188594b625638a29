"""What names of Rust are written with: letters, numbers, identifiers, and references to what came before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from incprof.readers.symbols.demangler import longest

DIGITS = {digit: value for value, digit in enumerate("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")}
# In base 62, of a 64-bit number.
MOST_DIGITS = 11
LENGTH = re.compile(r"(0|[1-9][0-9]{0,5})_?")
# A part may stand for any that came before it, which may do the same: an honest name has some hundred parts, few deep.
MOST_PARTS, DEEPEST = 5000, 100


class NotOfRustError(Exception):
    """The name is none of Rust's, or would become too long to be read."""


class Reader:
    """Reads a name from `at` on. Every method raises NotOfRustError where there is something else."""

    def __init__(self, text: str):
        self.at = 0
        self._text = text
        self._longest = longest(text.encode("utf-8", "replace"))
        self._parts = 0
        self._depth = 0

    @property
    def rest(self) -> str:
        """What has not been read."""
        return self._text[self.at :]

    def next(self) -> str:
        """The next character."""
        if self.at >= len(self._text):
            raise NotOfRustError
        self.at += 1
        return self._text[self.at - 1]

    def eat(self, tag: str) -> bool:
        """Whether that comes next, and is read if so."""
        found = self._text.startswith(tag, self.at)
        self.at += len(tag) * found
        return found

    def number(self) -> int:
        """In base 62, `_` for 0 and one less than the number before it otherwise."""
        value, digits = 0, self.until_underscore()
        if len(digits) > MOST_DIGITS:
            raise NotOfRustError
        for digit in digits:
            if digit not in DIGITS:
                raise NotOfRustError
            value = value * 62 + DIGITS[digit]
        return value + 1 if digits else 0

    def optional(self, tag: str) -> int:
        """A number that may be there: 0 if not, and counted from 1 if so."""
        return self.number() + 1 if self.eat(tag) else 0

    def until_underscore(self) -> str:
        """All before the next underscore, which is read too."""
        end = self._text.find("_", self.at)
        if end < 0:
            raise NotOfRustError
        text, self.at = self._text[self.at : end], end + 1
        return text

    def identifier(self) -> str:
        """What the author has called something; empty if nothing."""
        is_punycode = self.eat("u")
        length = LENGTH.match(self._text, self.at)
        if length is None:
            raise NotOfRustError
        name = self._text[length.end() : length.end() + int(length[1])]
        self.at = length.end() + int(length[1])
        if self.at > len(self._text):
            raise NotOfRustError
        return _of_punycode(name) if is_punycode else name

    @contextmanager
    def earlier(self) -> Iterator[None]:
        """Read at a place before the letter that was read last, and go on here after that."""
        letter = self.at - 1
        place = self.number()
        if place >= letter:
            raise NotOfRustError
        here, self.at = self.at, place
        yield
        self.at = here

    @contextmanager
    def part(self) -> Iterator[None]:
        """Count a part of the name, inside of others."""
        self._parts += 1
        self._depth += 1
        if self._parts > MOST_PARTS or self._depth > DEEPEST:
            raise NotOfRustError
        yield
        self._depth -= 1

    def shown(self, text: str) -> str:
        """A part of the name for people, unless it is too long."""
        if len(text) > self._longest:
            raise NotOfRustError
        return text


def _of_punycode(name: str) -> str:
    plain, _, rest = name.rpartition("_")
    try:
        return (f"{plain}-{rest}" if plain else rest).encode("ascii").decode("punycode")
    except ValueError:
        raise NotOfRustError from None
