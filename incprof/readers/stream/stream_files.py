"""The images of a stream: the position of each, and damaged places (docs/reference/formats.md)."""

from __future__ import annotations

import os
import re
import struct
import threading
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.safe.inputs import next_data, open_input

MAGIC = b"gmon\x01\x00\x00\x00"
HEADER = struct.Struct("<8sBBHII")
SUM_AT = 9
# Bytes of an image processed in one go.
PIECE = 1 << 20

METADATA, INTERVAL, OWN_TIME, LIBRARY_TIME, MODULES, NODES, SAMPLES, END = range(1, 9)


class Image(NamedTuple):
    """One image: its payload is `length` bytes at `offset`. `after_hole`: some bytes before it could not be read."""

    kind: int
    module: int
    interval: int
    offset: int
    length: int
    after_hole: bool


def check(head: bytes, *payload: bytes | memoryview) -> int:
    """Return the check byte of an image, computed with 0 in its place: 1 to 255; 0 would mean that there is none.

    A damaged image passes with a probability of 1 in 255.
    """
    crc = crc32(head[:SUM_AT] + b"\0" + head[SUM_AT + 1 :])
    for part in payload:
        crc = crc32(part, crc)
    return crc % 255 + 1


@dataclass
class Damage:
    """Damage found during a walk. `holes`: places where bytes were skipped; `torn`: the file ends inside an image."""

    holes: int = 0
    torn: bool = False


def walk(source: Source, damage: Damage, position: int = 0) -> Iterator[Image]:
    """Yield images in file order, from `position` on. Skip damaged places up to the next header, and record them."""
    hole = False
    data, base = b"", 0
    while position < source.size:
        # Nearly all images are whole and followed by another one, which is checked without accessing the source.
        at = position - base
        if 0 <= at <= len(data) - HEADER.size and not hole:
            magic, kind, checksum, module, length, interval = HEADER.unpack_from(data, at)
            begin = at + HEADER.size
            stop = begin + length
            if (
                magic == MAGIC
                and data.startswith(MAGIC, stop)
                and (not checksum or checksum == check(data[at:begin], memoryview(data)[begin:stop]))
            ):
                yield Image(kind, module, interval, position + HEADER.size, length, False)
                position = base + stop
                continue
        head = source.bytes_at(position, HEADER.size)
        end = _image_end(source, position, head)
        if end is None:
            torn_from = position
            position = source.find(MAGIC, position + 1, source.size)
            if position < 0:
                _note_tail(source, torn_from, damage)
                return
            damage.holes += 1
            hole = True
            continue
        _, kind, checksum, module, length, interval = HEADER.unpack(head)
        is_whole = not checksum or checksum == check(head, *_pieces(source, position + HEADER.size, end))
        data, base = source.window
        damage.holes += not is_whole
        is_taken = is_whole or (kind == METADATA and position == 0)  # without metadata, nothing can be read
        if is_taken:
            yield Image(kind, module, interval, position + HEADER.size, length, hole)
        position, hole = end, not is_taken


def _pieces(source: Source, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a payload of any length."""
    for at in range(begin, end, PIECE):
        yield source.bytes_at(at, min(PIECE, end - at))


def _note_tail(source: Source, position: int, damage: Damage) -> None:
    """Record a torn end if the file ends inside an image, or a hole if it ends in anything else."""
    if MAGIC.startswith(source.bytes_at(position, len(MAGIC))):
        damage.torn = True
    else:
        damage.holes += 1


def _image_end(source: Source, position: int, head: bytes) -> int | None:
    """Return the end of the image at `position` that begins with `head`, or None if no whole image lies there."""
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        return None
    length: int = HEADER.unpack(head)[4]
    end = position + HEADER.size + length
    if end > source.size:
        return None
    # A write that failed halfway leaves a length that extends over the following images.
    follows = source.peek(end, len(MAGIC))
    if not MAGIC.startswith(follows) and source.find(MAGIC, position + len(MAGIC), end + len(MAGIC) - 1) >= 0:
        return None
    return end


# Read a stream in windows: from a file of its own, or from its part of a file that ranks share (gathered.py).
#
# The file is not mapped into memory: if somebody truncated a mapped file, a signal would end the reader.


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
            offset = self._window.find(pattern, at, stop)
            if offset >= 0:
                return self._start + offset
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
                raise NoDataError(f"{self.path}: shrank while it was read: read it again")
            yield part
            offset, length = offset + len(part), length - len(part)


# Files that the ranks of a node share: the streams of all of them in chunks (docs/reference/formats.md).
#
# A stream in such a file has a path as if the file were a directory, `run/node-n1-0badcafe.gmon/rank-00003.gmon`, and
# is opened by it like any other.


NODE = re.compile(r"node-[^/]{1,120}\.gmon")
CHUNK_MAGIC = b"incchunk"
HEAD = struct.Struct("<8sHHIIIQIII4x")
VERSION, FORKED = 1, 1
# Fields covered by the head's own checksum.
SUMMED = 40
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

    def add(self, number: int, offset: int, length: int, crc: int) -> None:
        """Add a chunk; its contents are checked before the first read."""
        self._waiting.append((number, offset, length, crc))

    def check(self, fd: int, end: int) -> None:
        """Accept the chunks whose checksum matches. The very last one of the file, at `end`, may still be written."""
        taken = 0
        for number, offset, length, crc in self._waiting:
            is_valid = _sum(fd, offset, length) == crc
            if not is_valid and offset + length >= end:
                break
            self.holes += not is_valid or number != self._next
            self._next = number + 1
            taken += 1
            if is_valid and length:
                self.starts.append(self.size)
                self.offsets.append(offset)
                self.size += length
        del self._waiting[:taken]

    def pieces(self, offset: int, length: int) -> list[tuple[int, int]]:
        """Return where these bytes of the stream lie in the file: offsets and lengths."""
        spans: list[tuple[int, int]] = []
        index = bisect_right(self.starts, offset) - 1
        while length > 0 and 0 <= index < len(self.starts):
            end = self.starts[index + 1] if index + 1 < len(self.starts) else self.size
            part = min(length, end - offset)
            spans.append((self.offsets[index] + offset - self.starts[index], part))
            offset, length, index = offset + part, length - part, index + 1
        return spans


class NodeFile:
    """One such file, as far as it has been read. streams: by the name that each would have as a file."""

    def __init__(self) -> None:
        self.streams: dict[str, Chunks] = {}
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._position = 0
        self._chunks: dict[tuple[int, int, int, bool], Chunks] = {}
        self._lives: dict[tuple[int, int], int] = {}

    def read(self, fd: int, name: str | None = None) -> Chunks | None:
        """Find the chunks appended since the last call. Return those of a stream that are complete, if there is one."""
        with self._lock:
            status = os.fstat(fd)
            if self._file != (status.st_dev, status.st_ino) or status.st_size < self._position:
                self.streams, self._chunks, self._lives = {}, {}, {}
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
            if end > size or (end + len(CHUNK_MAGIC) <= size and os.pread(fd, len(CHUNK_MAGIC), end) != CHUNK_MAGIC):
                # Torn, if another chunk lies in it or after it; else the rest may not have been written yet.
                next_chunk = _find(fd, payload, size)
                if end > size and next_chunk + HEAD.size > size:
                    chunks.cut = True
                    break
                if next_chunk < end:
                    chunks.add(number, payload, next_chunk - payload, ~crc)
                    position = next_chunk
                    continue
            chunks.add(number, payload, length, crc)
            position = end
        self._position = position

    def _stream(self, head: tuple[bytes, int, int, int, int, int, int, int, int, int]) -> Chunks:
        """Return the stream of a chunk. The first of a rank's programs has the rank's own name."""
        _, _, flags, rank, pid, _, start_ns, *_ = head
        key = (rank, pid, start_ns, bool(flags & FORKED))
        if key not in self._chunks:
            name = f"rank-{rank:05}.gmon"
            if key[3] or name in self.streams:
                life = self._lives[rank, pid] = self._lives.get((rank, pid), 0) + 1
                name = f"rank-{rank:05}.{pid}{f'-{life}' if life > 1 else ''}.gmon"
            self.streams[name] = self._chunks[key] = Chunks()
        return self._chunks[key]


_files: OrderedDict[str, NodeFile] = OrderedDict()
_files_lock = threading.Lock()


def node_file(path: str) -> NodeFile:
    """Return the cached state of such a file, so that its chunks are located once for all of its streams."""
    key = os.path.abspath(path)
    with _files_lock:
        state = _files.setdefault(key, NodeFile())
        _files.move_to_end(key)
        if len(_files) > MOST_KNOWN:
            _files.popitem(last=False)
        return state


def _head(data: bytes) -> tuple[bytes, int, int, int, int, int, int, int, int, int] | None:
    """Return the fields of a chunk's head, if this is one."""
    if not data.startswith(CHUNK_MAGIC) or len(data) < HEAD.size:
        return None
    head: tuple[bytes, int, int, int, int, int, int, int, int, int] = HEAD.unpack(data)
    return head if head[1] == VERSION and head[9] == crc32(data[:SUMMED]) else None


def _find(fd: int, position: int, size: int) -> int:
    """Return where the next head may begin, from `position` on; `size` if there is none."""
    overlap = len(CHUNK_MAGIC) - 1
    while (position := next_data(fd, position)) + len(CHUNK_MAGIC) <= size:
        data = os.pread(fd, min(PIECE, size - position), position)
        at = data.find(CHUNK_MAGIC)
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
