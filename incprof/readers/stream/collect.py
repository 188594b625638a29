"""Sort the images of a stream into complete intervals."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.model import Metadata, Module
from incprof.readers.stream import images
from incprof.readers.stream.images import Damage, Image
from incprof.readers.stream.metadata import MOST_BYTES, parse_metadata, parse_modules
from incprof.readers.stream.window import ByteArray, Source

COUNTERS = 16
MAX_NS = 2**62

# Place of an image of a complete interval: docs/reference/formats.md, and the index of its interval.
PLACE = np.dtype([("interval", "i8"), ("kind", "i8"), ("module", "i8"), ("offset", "i8"), ("length", "i8")])
DATA = (images.OWN_TIME, images.LIBRARY_TIME, images.SAMPLES)


@dataclass
class Collected:
    """A stream, sorted but not decoded: the places of the images of its complete intervals.

    Attributes:
        nodes: payloads of node images in file order, and None where some may be missing.
        lost: number of intervals without a usable interval image.
        before_ns: end of the last interval before these, if they are a part of the stream.
    """

    source: Source
    metadata: Metadata
    modules: dict[int, Module]
    nodes: list[ByteArray | None] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)
    bad_images: int = 0
    lost: int = 0
    ended: bool = False
    before_ns: int = 0
    _counters: array[int] = field(default_factory=lambda: array("Q"))
    _places: array[int] = field(default_factory=lambda: array("q"))

    @property
    def n_intervals(self) -> int:
        """Number of complete intervals."""
        return len(self._counters) // COUNTERS

    @property
    def end_ns(self) -> int:
        """End of the last complete interval, nanoseconds since the start of the run."""
        return self._counters[1 - COUNTERS] if self._counters else self.before_ns

    @property
    def counters(self) -> npt.NDArray[np.uint64]:
        """Return the counters of the complete intervals as written, shape (n, COUNTERS)."""
        return np.frombuffer(self._counters.tobytes(), dtype=np.uint64).reshape(-1, COUNTERS)

    @property
    def places(self) -> npt.NDArray[np.void]:
        """Return the places of images of kinds 3, 4 and 7 of complete intervals, in file order; PLACE, shape (m,)."""
        return np.frombuffer(self._places.tobytes(), dtype=PLACE)

    def add(self, counters: tuple[int, ...], members: list[Image]) -> None:
        """Add a complete interval."""
        for image in members:
            self._places.extend((self.n_intervals, image.kind, image.module, image.offset, image.length))
        self._counters.extend(counters)


def collect(source: Source) -> Collected:
    """Sort the images of a stream.

    Raises: NoDataError if it is not a stream or has no metadata.
    """
    found = Collected(source, first_metadata(source), {})
    found.modules = {module.id: module for module in found.metadata.modules}
    found.damage = Damage(source.holes, source.torn)
    sorter = Sorter(found)
    for image in images.walk(source, found.damage):
        sorter.take(image)
    if found.damage.torn or sorter.pending:
        found.lost += 1
    return found


class Sorter:
    """Takes the images of a stream in file order. pending: images of the incomplete interval."""

    def __init__(self, found: Collected):
        self.found = found
        self.pending: list[Image] = []
        self._suspect: int | None = None
        self._last = -1

    def take(self, image: Image) -> bool:
        """Take the next image; return whether it completed its interval."""
        found = self.found
        if image.after_hole:
            self._suspect = _after_hole(found, image, self.pending)
        if image.kind == images.INTERVAL:
            _commit(found, image, self.pending, spoiled=image.interval == self._suspect)
            self.pending, self._suspect, self._last = [], None, image.interval
            return True
        if image.kind == images.NODES:
            self.pending.append(image)
            if image.interval > self._last + 1:
                found.nodes.append(None)
            found.nodes.append(found.source.array_at(image.offset, image.length).copy())
        elif image.kind in DATA:
            self.pending.append(image)
        else:
            _take_object(found, image)
        return False


def first_metadata(source: Source) -> Metadata:
    """Find and check the metadata of a stream.

    Raises: NoDataError if it is not a stream or has none.
    """
    where = source.path
    if not source.size:
        raise NoDataError(f"{where}: empty file: the program ended before its first interval, or the disk was full")
    head = source.bytes_at(0, images.HEADER.size)
    if head == b"gmon\x01" + bytes(15):
        raise NoDataError(f"{where}: a classic gmon.out, no stream: name it gmon.out and give --exe")
    for image in images.walk(source, Damage()):
        if image.kind == images.METADATA:
            return parse_metadata(source.bytes_at(image.offset, min(image.length, MOST_BYTES)), where)
    if source.find(images.MAGIC, 0, source.size) < 0:
        raise NoDataError(f"{where}: not an incprof stream: give a directory that incprof record wrote")
    raise NoDataError(f"{where}: the stream has no metadata, its start is damaged: record the program again")


def _after_hole(found: Collected, image: Image, pending: list[Image]) -> int:
    """Discard images that a hole may have separated; return the interval whose start the hole may have swallowed."""
    if any(other.interval != image.interval for other in pending):
        found.lost += 1
    pending.clear()
    found.nodes.append(None)
    return image.interval


def _take_object(found: Collected, image: Image) -> None:
    """Take an image that belongs to the run: new modules, or its end."""
    if image.kind == images.END:
        found.ended = True
    elif image.kind == images.MODULES:
        try:
            text = found.source.bytes_at(image.offset, min(image.length, MOST_BYTES))
            modules = parse_modules(text, found.source.path)
        except NoDataError:
            found.bad_images += 1
            return
        for module in modules:
            found.modules.setdefault(module.id, module)


def _commit(found: Collected, last: Image, pending: list[Image], *, spoiled: bool) -> None:
    """Close an interval with its kind-2 image, or count it as lost."""
    n = min(last.length // 8, COUNTERS)
    counters = struct.unpack(f"<{n}Q", found.source.bytes_at(last.offset, 8 * n)) + (0,) * (COUNTERS - n)
    if spoiled or not max(found.end_ns, counters[0]) < counters[1] < MAX_NS:
        found.lost += 1
        return
    members = [image for image in pending if image.interval == last.interval]
    found.bad_images += len(pending) - len(members)
    found.ended = False  # a program that announced an exec, which then failed
    found.add(counters, [image for image in members if image.kind != images.NODES])
