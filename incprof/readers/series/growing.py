"""Lines of a file, a pipe or a terminal that is still being written to."""

from __future__ import annotations

import codecs
import io
import os
import select
import stat
import time
from collections.abc import Iterator

from incprof.errors import NoDataError
from incprof.readers.series.form import LONGEST_LINE
from incprof.safe.inputs import open_series

PIECE = 1 << 16
# Time to wait for more.
PAUSE_S = 0.2


def opened(path: str) -> io.FileIO:
    """Open a file to be followed.

    Raises:
        NoDataError: it cannot be opened, or is a directory.
    """
    try:
        return open_series(path)
    except OSError as error:
        raise NoDataError(f"{path}: {error.strerror or error}: expected a file or a pipe of text") from None


def growing_lines(descriptor: int, where: str, idle: float) -> Iterator[str]:
    """Yield whole lines as they arrive, and an empty one whenever no more is available, or none arrived for a while.

    A pipe ends when its last writer has closed it; a file when it has not grown for `idle` seconds.

    Raises:
        NoDataError: a line never ends, or reading fails.
    """
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    rest, quiet, told = "", time.monotonic(), time.monotonic()
    while True:
        piece = _piece(descriptor, where, is_file)
        if piece:
            *whole, rest = (rest + decoder.decode(piece)).split("\n")
            yield from (line + "\n" for line in whole)
            if len(rest) > LONGEST_LINE:
                raise NoDataError(
                    f"{where}: a line of more than {LONGEST_LINE} characters: no text with a row or an event in each"
                )
            quiet = time.monotonic()
        elif piece is not None and not is_file:
            break
        if not piece or (not is_file and time.monotonic() - told >= PAUSE_S):
            yield ""
            told = time.monotonic()
        if is_file and not piece:
            if time.monotonic() - quiet >= idle:
                break
            time.sleep(min(PAUSE_S, idle))
    if rest:
        yield rest


def _piece(descriptor: int, where: str, is_file: bool) -> bytes | None:
    """Return available bytes, none at the end, None if nothing arrived for a moment."""
    try:
        if not is_file and not select.select([descriptor], [], [], PAUSE_S)[0]:
            return None
        return os.read(descriptor, PIECE)
    except OSError as error:
        raise NoDataError(f"{where}: cannot be read: {error.strerror or error}") from None
