"""Files that the user named: text by the line, JSON by the element, protocol buffers by the message, packed or not."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from incprof.errors import NoDataError
from incprof.safe.inputs import open_input, open_series
from incprof.safe.printable import parse_json

# Most bytes of a document read as a whole, unpacked; and the memory that it may take per byte.
MOST_BYTES, MOST_TIMES = 256 << 20, 16
# Most bytes of a line.
LONGEST_LINE = 1 << 16
GZIP = b"\x1f\x8b"
PIECE = 1 << 20
DIGITS = re.compile(r"(\d{1,18})")
# Errors raised while unpacking a damaged archive.
UNPACKING = (EOFError, zlib.error, gzip.BadGzipFile)
# Errors raised while interpreting a malformed document.
HOSTILE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
Answer = TypeVar("Answer")


def file_contents(path: str) -> bytes:
    """Return the contents of a file, unpacked.

    Raises: NoDataError if it cannot be read, is damaged, or is larger.
    """
    try:
        with unpacked(path) as source:
            data = bytearray()
            while len(data) <= MOST_BYTES and (piece := source.read(PIECE)):
                data += piece
    except UNPACKING as error:
        raise NoDataError(f"{path}: damaged: it cannot be unpacked to its end") from error
    if len(data) > MOST_BYTES:
        raise NoDataError(
            f"{path}: larger than {MOST_BYTES >> 20} MiB, and has to be read as a whole: import a part of it"
        )
    return bytes(data)


@contextmanager
def unpacked(path: str) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    """Open a file for reading, unpacked.

    Raises: NoDataError if it cannot be read; UNPACKING if it cannot be unpacked.
    """
    try:
        with open_input(path) as file:
            packed = file.peek(2)[:2] == GZIP
            with gzip.GzipFile(fileobj=file) if packed else file as source:
                yield source
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from error


def head_of(path: str, size: int = 4096) -> bytes:
    """Return the first bytes of a file, unpacked as far as possible.

    Raises: NoDataError if it cannot be read.
    """
    data = bytearray()
    with suppress(*UNPACKING), unpacked(path) as file:
        while len(data) < size and (piece := file.read1(size - len(data))):
            data += piece
    return bytes(data)


@contextmanager
def on_disk(path: str) -> Iterator[str]:
    """Provide a file for tools that do not unpack: the path, or that of an unpacked copy.

    Raises: NoDataError if it cannot be read or unpacked.
    """
    if not is_packed(path):
        yield path
        return
    with tempfile.NamedTemporaryFile() as copy:
        try:
            with unpacked(path) as file:
                shutil.copyfileobj(file, copy, PIECE)
        except UNPACKING as error:
            raise NoDataError(f"{path}: damaged: it cannot be unpacked to its end") from error
        copy.flush()
        yield copy.name


def is_packed(path: str) -> bool:
    """Return whether a file begins with gzip's magic number.

    Raises: OSError.
    """
    with open_input(path) as file:
        return file.peek(2)[:2] == GZIP


@contextmanager
def lines_of(path: str) -> Iterator[Iterator[str]]:
    """Yield the lines of a text, packed or not; `-` is the standard input. A line that is too long is split.

    Raises: NoDataError if it cannot be opened, or unpacked.
    """
    try:
        with io.BufferedReader(open_series("/dev/stdin")) if path == "-" else unpacked(path) as file:
            yield (line.decode("utf-8", "surrogateescape") for line in iter(lambda: file.readline(LONGEST_LINE), b""))
    except UNPACKING as error:
        raise NoDataError(f"{path}: damaged: it cannot be unpacked to its end") from error
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from error


def document(path: str) -> Any:
    """Parse a JSON file.

    Raises: NoDataError if it is not JSON, or cannot be read.
    """
    try:
        return parse_json(file_contents(path), most_times=MOST_TIMES)
    except ValueError as error:
        raise NoDataError(f"{path}: damaged: not valid JSON") from error


def understood(path: str, what: str, understand: Callable[[], Answer]) -> Answer:
    """Return the result of `understand`, which may assume that the document is well-formed.

    Raises: NoDataError if it is not.
    """
    try:
        return understand()
    except HOSTILE as error:
        raise NoDataError(f"{path}: damaged, or no {what}") from error


def in_order(paths: Sequence[str]) -> list[str]:
    """Sort paths by the numbers in their names: 9 before 10."""
    return sorted(paths, key=lambda path: [(int(n), "") if n.isdigit() else (-1, n) for n in DIGITS.split(path) if n])


def series_of(inputs: Sequence[str]) -> list[str]:
    """Return the files of a series: those given, or those in the one directory given.

    Raises: NoDataError if there are none.
    """
    files = list(inputs)
    if len(files) == 1 and Path(files[0]).is_dir():
        files = [str(entry) for entry in Path(files[0]).iterdir() if not entry.name.startswith(".")]
        files = [path for path in files if Path(path).is_file()]
    if not files:
        raise NoDataError(f"{inputs[0]}: no file in it")
    return in_order(files)


# JSON read one element at a time, for documents of gigabytes and for truncated ones.


# Longest text of one value: a longer one is damaged, such as a string without an end.
LONGEST_ELEMENT = 64 << 20
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
        while (token := self._next()) not in ("]", ""):
            yield self._value()
        self._at += len(token)

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
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more:  # otherwise a number may continue
                    self._at = end
                    return value
            except ValueError:
                if not self._more or len(self._text) - self._at > LONGEST_ELEMENT:
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


# Minimal protocol buffer reader for one message: numbers and length-delimited fields.
#
# The protobuf library would add a compiler's output for six small messages, and ten megabytes; and a file from others
# needs careful reading in either case.


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST_NUMBER = 10
MASK = 2**64 - 1
# The value of a field: a number, or the bytes of a text, a message, or packed numbers.
Value = int | memoryview


def fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message, (number, value), in order.

    Raises: ValueError if it is not a message.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("a field of an unknown kind")
        if size > len(data) - at:
            raise ValueError("a field that extends beyond its message")
        yield key >> 3, data[at : at + size]
        at += size


def numbers(value: Value) -> list[int]:
    """Return the unsigned numbers of a field that may have several.

    Raises: ValueError if they are not numbers.
    """
    if isinstance(value, int):
        return [value]
    values, at = list[int](), 0
    while at < len(value):
        number, at = _varint(value, at)
        values.append(number)
    return values


def number(value: Value) -> int:
    """Return an unsigned number.

    Raises: ValueError if the field is not one.
    """
    if not isinstance(value, int):
        raise ValueError("no number")
    return value


def signed(value: int) -> int:
    """Reinterpret an unsigned number of 64 bits as a signed one."""
    return value - 2**64 if value >= 2**63 else value


def message(value: Value) -> memoryview:
    """Return the bytes of a text or a message.

    Raises: ValueError if the field is a number.
    """
    if isinstance(value, int):
        raise ValueError("no message")
    return value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number, and the offset of the next byte."""
    value = 0
    for place in range(LONGEST_NUMBER):
        if at >= len(data):
            raise ValueError("a number without an end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & MASK, at
    raise ValueError("a number of more than ten bytes")
