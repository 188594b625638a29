"""What all readers of mangled names do: take characters, count parts, go back to what came before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incprof.readers.symbols.demangler import longest

# A part may stand for any that came before it, which may do the same: an honest name has some hundred parts, few deep.
MOST_PARTS, DEEPEST = 5000, 100


class UnknownNameError(Exception):
    """The name is none of the language, or would become too long to be read."""


class NameReader:
    """Reads a name from `at` on. Every method raises UnknownNameError where there is something else."""

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

    @property
    def peek(self) -> str:
        """The next character, which is not read; empty at the end."""
        return self._text[self.at : self.at + 1]

    def next(self) -> str:
        """The next character."""
        return self.take(1)

    def take(self, length: int) -> str:
        """So many characters."""
        if self.at + length > len(self._text):
            raise UnknownNameError
        self.at += length
        return self._text[self.at - length : self.at]

    def eat(self, tag: str) -> bool:
        """Whether that comes next, and is read if so."""
        found = self._text.startswith(tag, self.at)
        self.at += len(tag) * found
        return found

    @contextmanager
    def elsewhere(self, place: int, before: int) -> Iterator[None]:
        """Read at a place that lies before another one, and go on here after that."""
        if not 0 <= place < before:
            raise UnknownNameError
        here, self.at = self.at, place
        yield
        self.at = here

    @contextmanager
    def part(self) -> Iterator[None]:
        """Count a part of the name, inside of others."""
        self._parts += 1
        self._depth += 1
        if self._parts > MOST_PARTS or self._depth > DEEPEST:
            raise UnknownNameError
        yield
        self._depth -= 1

    def shown(self, text: str) -> str:
        """A part of the name for people, unless it is too long."""
        if len(text) > self._longest:
            raise UnknownNameError
        return text
