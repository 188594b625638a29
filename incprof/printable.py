"""Text that does nothing to a terminal but show itself: names in it come from files that others wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# What sets text, and does nothing else.
LAYOUT = dict.fromkeys(map(ord, "\n\t\u00a0\u1680\u202f\u205f\u3000"), " ") | dict.fromkeys(range(0x2000, 0x200B), " ")


# Room for the longest path (4 096 bytes) and for what is wrong with it.
LONGEST = 6000


def printable(text: str) -> str:
    """Return a text in one line: control characters, and signs that turn the direction of writing, are escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def printable_lines(text: str) -> str:
    """Return the same with its line ends, tabs, and spaces of other kinds."""
    # Most text is harmless, and looked at as a whole.
    bare = text.replace("\n", "").replace("\t", "")
    if bare.isprintable() or bare.translate(LAYOUT).isprintable():
        return text
    return "".join(c if c.isprintable() or ord(c) in LAYOUT else _escaped(c) for c in text)


def encodable(text: str) -> str:
    """Return a text that UTF-8 can hold: names of files may have bytes in them that are none, which are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(character: str) -> str:
    """Return the escape of a character. What JSON allows in its strings is escaped as JSON does: it stays the same."""
    if character < " ":
        return character.encode("unicode_escape").decode("ascii")
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def say(line: str) -> None:
    """Tell the user a line, beside the data on stdout; with dots for its middle where it is longer than LONGEST."""
    text = printable(line)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"
    print(f"incprof: {text}", file=sys.stderr)


class PrintableStream:
    """A text stream through which only printable text passes. `unfiltered`: the stream that it goes to."""

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
        """Be the stream in everything else."""
        return getattr(self.unfiltered, name)


def printable_stream(stream: TextIO) -> TextIO:
    """Return a stream through which only printable text gets to this one."""
    return cast(TextIO, PrintableStream(unfiltered(stream)))


def unfiltered(stream: TextIO) -> TextIO:
    """Return the stream that takes our own control sequences: colours, and what moves the cursor."""
    return stream.unfiltered if isinstance(stream, PrintableStream) else stream


@contextmanager
def printable_output() -> Iterator[None]:
    """Let stdout and stderr take printable text only, as long as the body runs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(printable_stream, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
