"""Files that the ranks of a node share: the streams of all of them in chunks (docs/reference/formats.md).

A stream in such a file has a path as if the file were a directory, `run/node-n1-0badcafe.gmon/rank-00003.gmon`, and is
opened by it like any other (window.py).
"""

from __future__ import annotations

import os
import re
import struct
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from zlib import crc32

from incprof.safe.inputs import next_data

NODE = re.compile(r"node-[^/]{1,120}\.gmon")
MAGIC = b"incchunk"
HEAD = struct.Struct("<8sHHIIIQIII4x")
VERSION, FORKED = 1, 1
# Fields covered by the head's own checksum.
SUMMED = 40
PIECE = 1 << 20
# Number of files whose chunk positions are cached.
MOST_KNOWN = 4096


def split(path: str) -> tuple[str, str | None]:
    """Return the file that contains a stream, and its name in there: None if the stream is a file of its own."""
    above, name = os.path.split(path)
    return (above, name) if NODE.fullmatch(os.path.basename(above)) else (path, None)


@dataclass
class Chunks:
    """The chunks of one stream: positions of their payloads in the file, and of their beginnings in the stream.

    Attributes:
        size: bytes of all of them.
        holes: places where chunks are missing or damaged.
        cut: the file ends inside its last chunk.
    """

    starts: array[int] = field(default_factory=lambda: array("Q"))
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    size: int = 0
    holes: int = 0
    cut: bool = False
    _waiting: list[tuple[int, int, int, int]] = field(default_factory=list)
    _next: int = 0

    @property
    def torn(self) -> bool:
        """True if its last chunk is incomplete."""
        return self.cut or bool(self._waiting)

    def found(self, number: int, offset: int, length: int, crc: int) -> None:
        """Add a chunk; its contents are checked before the first read."""
        self._waiting.append((number, offset, length, crc))

    def check(self, fd: int, end: int) -> None:
        """Accept the chunks whose checksum matches. The very last one of the file, at `end`, may still be written."""
        taken = 0
        for number, offset, length, crc in self._waiting:
            whole = _sum(fd, offset, length) == crc
            if not whole and offset + length >= end:
                break
            self.holes += not whole or number != self._next
            self._next = number + 1
            taken += 1
            if whole and length:
                self.starts.append(self.size)
                self.offsets.append(offset)
                self.size += length
        del self._waiting[:taken]

    def pieces(self, offset: int, length: int) -> list[tuple[int, int]]:
        """Return where these bytes of the stream lie in the file: offsets and lengths."""
        found: list[tuple[int, int]] = []
        index = bisect_right(self.starts, offset) - 1
        while length > 0 and 0 <= index < len(self.starts):
            end = self.starts[index + 1] if index + 1 < len(self.starts) else self.size
            part = min(length, end - offset)
            found.append((self.offsets[index] + offset - self.starts[index], part))
            offset, length, index = offset + part, length - part, index + 1
        return found


class NodeFile:
    """One such file, as far as it has been read. streams: by the name that each would have as a file."""

    def __init__(self) -> None:
        self.streams: dict[str, Chunks] = {}
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._position = 0
        self._known: dict[tuple[int, int, int, bool], Chunks] = {}
        self._lives: dict[tuple[int, int], int] = {}

    def read(self, fd: int, name: str | None = None) -> Chunks | None:
        """Find the chunks appended since the last call. Return those of a stream that are complete, if there is one."""
        with self._lock:
            status = os.fstat(fd)
            if self._file != (status.st_dev, status.st_ino) or status.st_size < self._position:
                self.streams, self._known, self._lives = {}, {}, {}
                self._file, self._position = (status.st_dev, status.st_ino), 0
            self._walk(fd, status.st_size)
            chunks = self.streams.get(name) if name is not None else None
            if chunks is not None:
                chunks.check(fd, status.st_size)
            return chunks

    def _walk(self, fd: int, size: int) -> None:
        """Walk from chunk to chunk. Skip invalid data up to the next chunk; a truncated chunk may still be written."""
        position = self._position
        while position + HEAD.size <= size:
            head = _head(os.pread(fd, HEAD.size, position))
            if head is None:
                position = _find(fd, position + 1, size)
                continue
            chunks, number, length, crc = self._stream(head), head[7], head[5], head[8]
            chunks.cut = False
            payload, end = position + HEAD.size, position + HEAD.size + length
            if end > size or (end + len(MAGIC) <= size and os.pread(fd, len(MAGIC), end) != MAGIC):
                # Torn, if another chunk lies in it or after it; else the rest may not have been written yet.
                behind = _find(fd, payload, size)
                if end > size and behind + HEAD.size > size:
                    chunks.cut = True
                    break
                if behind < end:
                    chunks.found(number, payload, behind - payload, ~crc)
                    position = behind
                    continue
            chunks.found(number, payload, length, crc)
            position = end
        self._position = position

    def _stream(self, head: tuple[bytes, int, int, int, int, int, int, int, int, int]) -> Chunks:
        """Return the stream of a chunk. The first of a rank's programs has the rank's own name."""
        _, _, flags, rank, pid, _, start_ns, *_ = head
        key = (rank, pid, start_ns, bool(flags & FORKED))
        if key not in self._known:
            name = f"rank-{rank:05}.gmon"
            if key[3] or name in self.streams:
                life = self._lives[rank, pid] = self._lives.get((rank, pid), 0) + 1
                name = f"rank-{rank:05}.{pid}{f'-{life}' if life > 1 else ''}.gmon"
            self.streams[name] = self._known[key] = Chunks()
        return self._known[key]


_files: OrderedDict[str, NodeFile] = OrderedDict()
_files_lock = threading.Lock()


def node_file(path: str) -> NodeFile:
    """Return the cached state of such a file, so that its chunks are located once for all of its streams."""
    key = os.path.abspath(path)
    with _files_lock:
        found = _files.setdefault(key, NodeFile())
        _files.move_to_end(key)
        if len(_files) > MOST_KNOWN:
            _files.popitem(last=False)
        return found


def _head(data: bytes) -> tuple[bytes, int, int, int, int, int, int, int, int, int] | None:
    """Return the fields of a chunk's head, if this is one."""
    if not data.startswith(MAGIC) or len(data) < HEAD.size:
        return None
    head: tuple[bytes, int, int, int, int, int, int, int, int, int] = HEAD.unpack(data)
    return head if head[1] == VERSION and head[9] == crc32(data[:SUMMED]) else None


def _find(fd: int, position: int, size: int) -> int:
    """Return where the next head may begin, from `position` on; `size` if there is none."""
    overlap = len(MAGIC) - 1
    while (position := next_data(fd, position)) + len(MAGIC) <= size:
        data = os.pread(fd, min(PIECE, size - position), position)
        at = data.find(MAGIC)
        if at >= 0:
            return position + at
        if len(data) <= overlap:
            break
        position += len(data) - overlap
    return size


def _sum(fd: int, offset: int, length: int) -> int | None:
    """Return the checksum of these bytes; None if some of them are missing, or were never written."""
    crc, end = 0, offset + length
    while offset < end:
        size = min(PIECE, end - offset)
        if size == PIECE and next_data(fd, offset) >= offset + size:
            return None
        data = os.pread(fd, size, offset)
        if not data:
            return None
        crc, offset = crc32(data, crc), offset + len(data)
    return crc
