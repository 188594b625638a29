"""The images of a stream sorted into intervals that are complete."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from incprof.errors import NoDataError
from incprof.model import Metadata, Module
from incprof.readers import images
from incprof.readers.images import Buffer, Damage, Image
from incprof.readers.metadata import parse_metadata, parse_modules

ByteArray = npt.NDArray[np.uint8]
COUNTERS = 12
MAX_NS = 2**62


@dataclass
class IntervalImages:
    """What a stream says about one interval. `nodes_seen`: node images up to here, all of which its samples need."""

    counters: npt.NDArray[np.uint64]
    nodes_seen: int
    own_time: list[tuple[int, ByteArray]] = field(default_factory=list)
    library_time: list[tuple[int, ByteArray]] = field(default_factory=list)
    samples: list[ByteArray] = field(default_factory=list)


@dataclass
class Collected:
    """A stream, sorted but not decoded. `lost` counts intervals without a usable interval image."""

    where: str
    metadata: Metadata
    modules: dict[int, Module]
    intervals: list[IntervalImages] = field(default_factory=list)
    nodes: list[ByteArray] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)
    bad_images: int = 0
    lost: int = 0
    ended: bool = False


def collect(data: Buffer, where: str) -> Collected:
    """Sort the images of a stream.

    Raises: NoDataError when it is no stream or has no metadata.
    """
    damage = Damage()
    walker = images.walk(data, damage)
    found = Collected(where, first_metadata(data, where), {}, damage=damage)
    found.modules = {module.id: module for module in found.metadata.modules}
    raw = np.frombuffer(data, dtype=np.uint8)
    pending: list[Image] = []
    suspect: int | None = None
    for image in walker:
        if image.after_hole:
            suspect = _after_hole(found, image, pending)
        if image.kind == images.INTERVAL:
            _commit(found, image, pending, raw, spoiled=image.interval == suspect)
            pending, suspect = [], None
        else:
            _sort(found, image, pending, raw)
    if damage.torn or pending:
        found.lost += 1
    return found


def first_metadata(data: Buffer, where: str) -> Metadata:
    """Find and check the metadata of a stream.

    Raises: NoDataError when it is no stream or has none.
    """
    if not len(data):
        raise NoDataError(f"{where}: empty file: the program ended before its first interval, or the disk was full")
    if data[:4] == b"gmon" and data[4:20] == b"\x01" + bytes(15):
        raise NoDataError(f"{where}: a classic gmon.out, no stream: name it gmon.out and give --exe")
    for image in images.walk(data, Damage()):
        if image.kind == images.METADATA:
            return parse_metadata(data[image.offset : image.offset + image.length], where)
    if data.find(images.MAGIC) < 0:
        raise NoDataError(f"{where}: not an incprof stream: give a directory that incprof record wrote")
    raise NoDataError(f"{where}: the stream has no metadata, its start is damaged: record the program again")


def _after_hole(found: Collected, image: Image, pending: list[Image]) -> int:
    """Forget what a hole may have torn apart; the number of the interval whose start it may have swallowed.

    Node numbers run over the whole file, so an unusable node image takes the place of those that may be gone.
    """
    if any(other.interval != image.interval for other in pending):
        found.lost += 1
    pending.clear()
    found.nodes.append(np.empty(0, dtype=np.uint8))
    return image.interval


def _sort(found: Collected, image: Image, pending: list[Image], raw: ByteArray) -> None:
    """Put an image that is not an interval's last one where it belongs."""
    payload = raw[image.offset : image.offset + image.length]
    if image.kind in (images.OWN_TIME, images.LIBRARY_TIME, images.SAMPLES, images.NODES):
        pending.append(image)
    if image.kind == images.NODES:
        found.nodes.append(payload)
    elif image.kind == images.MODULES:
        try:
            for module in parse_modules(payload.tobytes(), found.where):
                found.modules.setdefault(module.id, module)
        except NoDataError:
            found.bad_images += 1
    elif image.kind == images.END:
        found.ended = True


def _commit(found: Collected, last: Image, pending: list[Image], raw: ByteArray, *, spoiled: bool) -> None:
    """Close an interval with its kind-2 image, or count it as lost."""
    counters = np.zeros(COUNTERS, dtype=np.uint64)
    n = min(last.length // 8, COUNTERS)
    counters[:n] = np.frombuffer(raw[last.offset : last.offset + 8 * n], dtype="<u8")
    previous = int(found.intervals[-1].counters[1]) if found.intervals else 0
    start, end = int(counters[0]), int(counters[1])
    if spoiled or not max(previous, start) < end < MAX_NS:
        found.lost += 1
        return
    interval = IntervalImages(counters, len(found.nodes))
    for image in pending:
        payload = raw[image.offset : image.offset + image.length]
        if image.interval != last.interval:
            found.bad_images += 1
        elif image.kind == images.SAMPLES:
            interval.samples.append(payload)
        elif image.kind != images.NODES:
            times = interval.own_time if image.kind == images.OWN_TIME else interval.library_time
            times.append((image.module, payload))
    found.intervals.append(interval)
