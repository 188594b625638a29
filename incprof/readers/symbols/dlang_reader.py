"""What names of D are written with: numbers, text, values of template arguments, and references to what came before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from incprof.readers.symbols.name_reader import NameReader, UnknownNameError

# How D writes a number of a type.
SUFFIXES = {"h": "u", "t": "u", "k": "u", "l": "L", "m": "uL"}
CHARACTERS = "auw"
NUMBER, DIGITS, BACK = re.compile("[0-9]{1,6}"), re.compile("[0-9]{1,40}"), re.compile("[A-Z]{0,6}[a-z]")
REAL = re.compile("NAN|INF|NINF|N?[0-9A-F]+PN?[0-9]+")
SPECIAL = {"NAN": "NaN", "INF": "Inf", "NINF": "-Inf"}
# Text that does not look like brackets of the name around it.
PLAIN = re.compile(r"[\w .,:;/+*=%-]*")


class Reader(NameReader):
    """Reads a name of D."""

    def integer(self, kind: str) -> str:
        """A whole number of the type with this letter."""
        digits = self.matched(DIGITS)
        if kind == "b":
            return "false" if digits == "0" else "true"
        if kind in CHARACTERS and kind:
            code = int(digits)
            return f"'{chr(code)}'" if 0x20 <= code < 0x7F and chr(code).isalnum() else f"'\\{code:x}'"
        return digits + SUFFIXES.get(kind, "")

    def real(self) -> str:
        """A number with a point, in hexadecimal digits."""
        text = self.matched(REAL)
        special = SPECIAL.get(text)
        if special:
            return special
        minus, digits = ("-", text[1:]) if text[0] == "N" else ("", text)
        whole, _, power = digits.partition("P")
        return f"{minus}0x{whole[0]}.{whole[1:]}p{power.replace('N', '-')}"

    def string(self, tag: str) -> str:
        """Text; of characters that this letter stands for."""
        length = self.number()
        if not self.eat("_"):
            raise UnknownNameError
        try:
            text = bytes.fromhex(self.take(2 * length)).decode("utf-8", "replace")
        except ValueError:
            raise UnknownNameError from None
        return f'"{text if PLAIN.fullmatch(text) else "..."}"{tag if tag != "a" else ""}'

    def until(self, end: str, part: Callable[[], str]) -> list[str]:
        """All parts up to this mark, which is read too."""
        found: list[str] = []
        while not self.eat(end):
            found.append(part())
        return found

    def number(self) -> int:
        """A number of decimal digits: a length, or how many follow."""
        return int(self.matched(NUMBER))

    def matched(self, what: re.Pattern[str]) -> str:
        """What looks like this."""
        found = what.match(self._text, self.at)
        if found is None:
            raise UnknownNameError
        self.at = found.end()
        return found[0]

    @contextmanager
    def back(self) -> Iterator[None]:
        """Read what a `Q` and a number stand for: what is so many characters before it. Go on behind it."""
        letter, distance = self.at, 0
        self.take(1)
        for digit in self.matched(BACK):
            distance = distance * 26 + ord(digit.lower()) - ord("a")
        with self.elsewhere(letter - distance, letter):
            yield

    def letter(self) -> str:
        """What a type begins with, which is not read."""
        here, letter = self.at, self.peek
        if letter == "Q":
            with self.back():
                letter = self.peek
        self.at = here
        return letter

    def words(self, known: dict[str, str]) -> list[str]:
        """What these marks stand for, as many as there are."""
        found: list[str] = []
        while tag := next((tag for tag in known if self.eat(tag)), None):
            found.append(known[tag])
        return found
