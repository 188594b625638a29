"""Text that is safe to print on a terminal, and JSON of others that is safe to read."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Sequences that only style text.
LAYOUT = dict.fromkeys(map(ord, "\n\t\u00a0\u1680\u202f\u205f\u3000"), " ") | dict.fromkeys(range(0x2000, 0x200B), " ")


# Enough for the longest path (4 096 bytes) and an error about it.
LONGEST = 6000


def printable(text: str) -> str:
    """Return a text in one line, with control characters and direction-changing signs escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def printable_lines(text: str) -> str:
    """Return the same, but keep line ends, tabs, and spaces of other kinds."""
    # Most text is harmless, which one match over the whole text establishes.
    bare = text.replace("\n", "").replace("\t", "")
    if bare.isprintable() or bare.translate(LAYOUT).isprintable():
        return text
    return "".join(c if c.isprintable() or ord(c) in LAYOUT else _escaped(c) for c in text)


def encodable(text: str) -> str:
    """Return a text that UTF-8 can encode: file names may contain bytes that are not UTF-8, which are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(character: str) -> str:
    """Return the escape of a character: JSON's own where JSON allows it in strings, so that values do not change."""
    if character < " ":
        return character.encode("unicode_escape").decode("ascii")
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def say(line: str) -> None:
    """Print a line on stderr, apart from the data on stdout; if it is longer than LONGEST, dots replace its middle."""
    text = printable(line)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"
    print(f"incprof: {text}", file=sys.stderr)


class PrintableStream:
    """A text stream that passes printable text only. `unfiltered`: the underlying stream."""

    def __init__(self, unfiltered: TextIO):
        self.unfiltered = unfiltered

    def write(self, text: str) -> int:
        """Write a text."""
        self.unfiltered.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the stream."""
        return getattr(self.unfiltered, name)


def printable_stream(stream: TextIO) -> TextIO:
    """Return a stream that passes only printable text on to this one."""
    return cast(TextIO, PrintableStream(unfiltered(stream)))


def unfiltered(stream: TextIO) -> TextIO:
    """Return the stream for our own control sequences: colours, and cursor movement."""
    return stream.unfiltered if isinstance(stream, PrintableStream) else stream


@contextmanager
def printable_output() -> Iterator[None]:
    """Restrict stdout and stderr to printable text while the body runs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(printable_stream, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


# JSON from others: parsed within limits, and without characters in its strings that no name can contain.


# Small enough for any use.
SMALL = 1 << 20
# Memory of an empty list and a small object, bytes; and the most that all values may take, as a multiple of the text.
LIST, OBJECT, MOST_TIMES = 80, 180, 8
# NUL ends a name, and an unpaired surrogate is not a character; surrogates that encode non-UTF-8 bytes are kept.
NO_NAME = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
INSTEAD = "\ufffd"


def parse_json(data: bytes, *, most_times: int = MOST_TIMES) -> Any:
    """Parse a JSON text, if the result takes at most so many times its bytes.

    Bytes that are not UTF-8 become characters that os.fsencode turns into these bytes again.

    Raises: ValueError if it is not JSON, is nested too deeply, or would take far more memory than it has bytes.
    """
    if len(data) > SMALL and LIST * data.count(b"[") + OBJECT * data.count(b"{") > most_times * len(data):
        raise ValueError("hardly anything but brackets")
    try:
        value = json.loads(data.decode("utf-8", "surrogateescape"))
        return _clean(value) if b"\\u" in data else value
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return NO_NAME.sub(INSTEAD, value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return value
