"""A heartbeat file, a piece at a time: each piece ends with an `#interval` line, so no interval is cut."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import BinaryIO

from appekg.errors import AppekgError

CHUNK = 8 << 20
LINE_LIMIT = 16 << 20
INTERVAL_LIMIT = 1 << 30
# A file written this recently may be in the middle of a write, which is over a moment later.
FRESH_S = 1.0
SECOND_LOOK_S = 0.02
MARK = b"#interval "


def first_lines(raw: BinaryIO, where: str) -> tuple[bytes, bytes]:
    """Read the first two lines, without their newlines; the second is empty where the file ends before it.

    Raises:
        AppekgError: there is no complete first line.
    """
    lines = [raw.readline(LINE_LIMIT) for _ in range(2)]
    if not lines[0]:
        raise AppekgError(f"{where}: empty")
    if not lines[0].endswith(b"\n"):
        raise AppekgError(f"{where}: not a heartbeat file (the first line is not an #appekg line)")
    return lines[0][:-1], lines[1][:-1] if lines[1].endswith(b"\n") else b""


def pieces(raw: BinaryIO) -> Iterator[bytes | None]:
    """Yield the rest of the file in pieces that end with a newline; None stands for bytes that had to be skipped.

    Every piece but the last ends with an `#interval` line. A newline is added to the last one if the file does not end
    with one. Memory stays below INTERVAL_LIMIT plus a few times CHUNK.
    """
    buffer = bytearray()
    line = 0  # where the last, incomplete line begins
    while chunk := _more(raw, bool(buffer)):
        buffer += chunk
        end = buffer.rfind(b"\n", line) + 1
        if end:
            at = buffer.rfind(b"\n" + MARK, max(line - 1, 0), end - 1) + 1
            if at or (line == 0 and buffer.startswith(MARK)):
                cut = buffer.index(b"\n", at) + 1
                yield bytes(memoryview(buffer)[:cut])
                del buffer[:cut]
                end -= cut
            line = end
        if len(buffer) - line > LINE_LIMIT or len(buffer) > INTERVAL_LIMIT:
            yield None
            buffer.clear()
            line = 0
    if buffer:
        yield bytes(buffer) if buffer.endswith(b"\n") else bytes(buffer) + b"\n"


def _more(raw: BinaryIO, unfinished: bool) -> bytes:
    """Read on; at the end of a file that is being written, read twice before an interval counts as incomplete."""
    chunk = raw.read(CHUNK)
    if not chunk and unfinished and time.time() - os.fstat(raw.fileno()).st_mtime < FRESH_S:
        time.sleep(SECOND_LOOK_S)
        chunk = raw.read(CHUNK)
    return chunk
