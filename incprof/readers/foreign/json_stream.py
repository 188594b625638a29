"""JSON read one element at a time, for documents of gigabytes and for truncated ones."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Protocol

from incprof.readers.foreign.files import UNPACKING

PIECE = 1 << 20
# Longest text of one value: a longer one is damaged, such as a string without an end.
LONGEST = 64 << 20
# Between values. Some writers leave a comma after the last one.
BETWEEN = re.compile(r"[\s,]*")


class Readable(Protocol):
    """A source of bytes."""

    def read1(self, size: int, /) -> bytes:
        """Read at most so many bytes; none at the end."""


class JsonStream:
    """Members of a JSON object, (name, value); for some of its lists, each element: (name, element).

    If the document is a list, the name of each element is "".

    Attributes:
        cut: whether the document ended, or had to be abandoned, before all its values were read.
    """

    def __init__(self, file: Readable, lists: Collection[str]):
        self.cut = False
        self._file, self._lists = file, lists
        self._decoder = json.JSONDecoder(strict=False)
        self._characters = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text, self._at, self._more = "", 0, True

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Read to the end, or to the first invalid JSON."""
        try:
            if self._next() == "[":
                yield from (("", value) for value in self._list())
            else:
                yield from self._members()
        except (ValueError, RecursionError):
            self.cut = True

    def _members(self) -> Iterator[tuple[str, Any]]:
        self._expect("{")
        while self._next() != "}":
            name = self._value()
            self._expect(":")
            if name in self._lists and self._next() == "[":
                yield from ((name, value) for value in self._list())
                if self._next() == "":
                    raise ValueError("no end")
            else:
                yield name, self._value()

    def _list(self) -> Iterator[Any]:
        """Yield the elements of a list. Its end may be missing: writers of traces may omit it."""
        self._expect("[")
        while (found := self._next()) not in ("]", ""):
            yield self._value()
        self._at += len(found)

    def _next(self) -> str:
        """Return the next character that is not blank; "" at the end."""
        while True:
            self._at = BETWEEN.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more:
                return self._text[self._at : self._at + 1]
            self._fill(PIECE)

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"no {character}")
        self._at += 1

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more:  # otherwise a number may continue
                    self._at = end
                    return found
            except ValueError:
                if not self._more or len(self._text) - self._at > LONGEST:
                    raise
            self._fill(max(len(self._text) - self._at, PIECE))

    def _fill(self, size: int) -> None:
        """Read more; the readable part of a damaged archive is used."""
        pieces = [self._text[self._at :]]
        while size > 0 and self._more:
            try:
                data = self._file.read1(size)
            except UNPACKING:
                data, self.cut = b"", True
            self._more, size = bool(data), size - len(data)
            pieces.append(self._characters.decode(data, final=not data))
        self._text, self._at = "".join(pieces), 0
