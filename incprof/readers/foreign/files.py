"""Files that the user named: text by the line, or whole within limits, packed or not."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from incprof.errors import NoDataError
from incprof.safe.inputs import open_input, open_series
from incprof.safe.jsontext import parse_json

# Most bytes of a document read as a whole, unpacked; and the memory that it may take per byte.
MOST_BYTES, MOST_TIMES = 256 << 20, 16
# Most bytes of a line.
LONGEST = 1 << 16
GZIP = b"\x1f\x8b"
PIECE = 1 << 20
DIGITS = re.compile(r"(\d{1,18})")
# Errors raised while unpacking a damaged archive.
UNPACKING = (EOFError, zlib.error, gzip.BadGzipFile)
# Errors raised while interpreting a malformed document.
HOSTILE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
Answer = TypeVar("Answer")


def whole(path: str, most: int = MOST_BYTES) -> bytes:
    """Return the contents of a file, unpacked.

    Raises: NoDataError if it cannot be read, is damaged, or is larger.
    """
    try:
        with unpacked(path) as source:
            data = bytearray()
            while len(data) <= most and (piece := source.read(PIECE)):
                data += piece
    except UNPACKING as error:
        raise NoDataError(f"{path}: damaged: it cannot be unpacked to its end") from error
    if len(data) > most:
        raise NoDataError(f"{path}: larger than {most >> 20} MiB, and has to be read as a whole: import a part of it")
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
            yield (line.decode("utf-8", "surrogateescape") for line in iter(lambda: file.readline(LONGEST), b""))
    except UNPACKING as error:
        raise NoDataError(f"{path}: damaged: it cannot be unpacked to its end") from error
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror or error}") from error


def document(path: str) -> Any:
    """Parse a JSON file.

    Raises: NoDataError if it is not JSON, or cannot be read.
    """
    try:
        return parse_json(whole(path), most_times=MOST_TIMES)
    except ValueError as error:
        raise NoDataError(f"{path}: damaged: no JSON from its beginning to its end") from error


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
    found = list(inputs)
    if len(found) == 1 and Path(found[0]).is_dir():
        found = [str(entry) for entry in Path(found[0]).iterdir() if not entry.name.startswith(".")]
        found = [path for path in found if Path(path).is_file()]
    if not found:
        raise NoDataError(f"{inputs[0]}: no file in it")
    return in_order(found)
