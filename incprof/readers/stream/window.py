"""Read a stream in windows: from a file of its own, or from its part of a file that ranks share (gathered.py).

The file is not mapped into memory: if somebody truncated a mapped file, a signal would end the reader.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.readers.stream.node_files import Chunks, node_file, split
from incprof.safe.inputs import next_data, open_input

ByteArray = npt.NDArray[np.uint8]

WINDOW = 4 << 20


class Source:
    """An open stream of a run, of `size` bytes; data appended later is not included. Use it as a context manager.

    Attributes:
        holes: number of pieces that a shared file has lost.
        torn: the last piece is truncated.

    Raises: NoDataError if the file cannot be opened or read, or is truncated meanwhile.
    """

    def __init__(self, path: str):
        self.path = path
        self._window, self._start = b"", 0
        file, name = split(path)
        try:
            self._file = open_input(file, within=os.path.dirname(file) or ".")
        except OSError as error:
            raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error
        self._fd = self._file.fileno()
        self._chunks: Chunks | None = None
        self.holes, self.torn = 0, False
        if name is None:
            self.size = os.fstat(self._fd).st_size
        else:
            self._open_chunks(file, name)

    def _open_chunks(self, file: str, name: str) -> None:
        """Find a stream in a shared file."""
        try:
            self._chunks = node_file(file).read(self._fd, name)
        except OSError as error:
            self._file.close()
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error
        if self._chunks is None:
            self._file.close()
            raise NoDataError(f"{self.path}: no such stream in the file")
        self.size, self.holes, self.torn = self._chunks.size, self._chunks.holes, self._chunks.torn

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Return at most `length` bytes at `offset`: fewer at the end of the file."""
        at, length = self._at(offset, length)
        return self._window[at : at + length]

    def array_at(self, offset: int, length: int) -> ByteArray:
        """Return the same as an array. It keeps its window alive: copy data that is to outlive a chunk."""
        at, length = self._at(offset, length)
        return np.frombuffer(self._window, np.uint8, length, at) if length else np.empty(0, np.uint8)

    def peek(self, offset: int, length: int) -> bytes:
        """Return the same as `bytes_at` for a few bytes, without moving the window there."""
        at = offset - self._start
        if at >= 0 and at + length <= len(self._window):
            return self._window[at : at + length]
        return self._read(offset, max(min(length, self.size - offset), 0))

    @property
    def window(self) -> tuple[bytes, int]:
        """Return the part of the file that was read last, and its offset."""
        return self._window, self._start

    def find(self, pattern: bytes, start: int, end: int) -> int:
        """Return the offset of the first `pattern` that lies in [start, end), or -1. It must not begin with NUL."""
        overlap = len(pattern) - 1
        end = min(end, self.size)
        while (start := start if self._chunks else next_data(self._fd, start)) + overlap < end:
            at = self._at(start, len(pattern))[0]
            stop = min(end - self._start, len(self._window))
            found = self._window.find(pattern, at, stop)
            if found >= 0:
                return self._start + found
            start = self._start + stop - overlap
        return -1

    def _at(self, offset: int, length: int) -> tuple[int, int]:
        """Return where the window holds the requested bytes, and how many of them exist."""
        length = max(min(length, self.size - offset), 0)
        at = offset - self._start
        if at < 0 or at + length > len(self._window):
            # Release the old window first, so that there are never two of them.
            self._window, self._start, at = b"", offset, 0
            self._window = self._read(offset, max(length, min(WINDOW, self.size - offset)))
        return at, length

    def _read(self, offset: int, length: int) -> bytes:
        """Return exactly these bytes of the file."""
        pieces = [(offset, length)] if self._chunks is None else self._chunks.pieces(offset, length)
        return b"".join(part for at, size in pieces for part in self._parts(at, size))

    def _parts(self, offset: int, length: int) -> Iterator[bytes]:
        """Yield these bytes of the file in the pieces that the system returns."""
        while length > 0:
            try:
                part = os.pread(self._fd, length, offset)
            except OSError as error:
                raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error
            if not part:
                raise NoDataError(f"{self.path}: became shorter while it was read: read it again")
            yield part
            offset, length = offset + len(part), length - len(part)
