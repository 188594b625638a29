"""What names of Rust are written with: letters, numbers, identifiers, and references to what came before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from incprof.readers.symbols.name_reader import NameReader, UnknownNameError

DIGITS = {digit: value for value, digit in enumerate("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")}
# In base 62, of a 64-bit number.
MOST_DIGITS = 11
LENGTH = re.compile(r"(0|[1-9][0-9]{0,5})_?")


class Reader(NameReader):
    """Reads a name of Rust."""

    def number(self) -> int:
        """In base 62, `_` for 0 and one less than the number before it otherwise."""
        value, digits = 0, self.until_underscore()
        if len(digits) > MOST_DIGITS:
            raise UnknownNameError
        for digit in digits:
            if digit not in DIGITS:
                raise UnknownNameError
            value = value * 62 + DIGITS[digit]
        return value + 1 if digits else 0

    def optional(self, tag: str) -> int:
        """A number that may be there: 0 if not, and counted from 1 if so."""
        return self.number() + 1 if self.eat(tag) else 0

    def until_underscore(self) -> str:
        """All before the next underscore, which is read too."""
        end = self._text.find("_", self.at)
        if end < 0:
            raise UnknownNameError
        text, self.at = self._text[self.at : end], end + 1
        return text

    def identifier(self) -> str:
        """What the author has called something; empty if nothing."""
        is_punycode = self.eat("u")
        length = LENGTH.match(self._text, self.at)
        if length is None:
            raise UnknownNameError
        self.at = length.end()
        name = self.take(int(length[1]))
        return _of_punycode(name) if is_punycode else name

    @contextmanager
    def earlier(self) -> Iterator[None]:
        """Read at a place before the letter that was read last, and go on here after that."""
        letter = self.at - 1
        with self.elsewhere(self.number(), letter):
            yield


def _of_punycode(name: str) -> str:
    plain, _, rest = name.rpartition("_")
    try:
        return (f"{plain}-{rest}" if plain else rest).encode("ascii").decode("punycode")
    except ValueError:
        raise UnknownNameError from None
