"""Sort the images of a stream into complete intervals."""

from __future__ import annotations

import math
import re
import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from incprof.errors import IncprofError, NoDataError
from incprof.model import Code, Metadata, Module
from incprof.readers.stream import stream_files
from incprof.readers.stream.stream_files import ByteArray, Damage, Image, Source
from incprof.safe.printable import parse_json
from incprof.symbols.elf.preflight import program_name, script_name

COUNTERS = 18
MAX_NS = 2**62
# Size of an END image, at most.
TAIL_BYTES = 512

# Place of an image of a complete interval: docs/reference/formats.md, and the index of its interval.
PLACE = np.dtype([("interval", "i8"), ("kind", "i8"), ("module", "i8"), ("offset", "i8"), ("length", "i8")])
DATA = (stream_files.OWN_TIME, stream_files.LIBRARY_TIME, stream_files.SAMPLES)


@dataclass
class Collected:
    """A stream, sorted but not decoded: the places of the images of its complete intervals.

    Attributes:
        nodes: payloads of node images in file order, and None where some may be missing.
        lost: number of intervals without a usable interval image.
        before_ns: end of the last interval before these, if they are a part of the stream.
        kinds: of the images that have places.
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
    kinds: tuple[int, ...] = DATA
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
        """Return the places of the images of complete intervals, in file order; PLACE, shape (m,)."""
        return np.frombuffer(self._places.tobytes(), dtype=PLACE)

    def add(self, counters: tuple[int, ...], members: list[Image]) -> None:
        """Add a complete interval."""
        for image in members:
            self._places.extend((self.n_intervals, image.kind, image.module, image.offset, image.length))
        self._counters.extend(counters)


def collect(source: Source, kinds: tuple[int, ...] = DATA) -> Collected:
    """Sort the images of a stream; those of `kinds` get places.

    Raises: NoDataError if it is not a stream or has no metadata.
    """
    collected = Collected(source, first_metadata(source), {}, kinds=kinds)
    collected.modules = {module.id: module for module in collected.metadata.modules}
    collected.damage = Damage(source.holes, source.torn)
    sorter = Sorter(collected)
    for image in stream_files.walk(source, collected.damage):
        sorter.take(image)
    if collected.damage.torn or sorter.pending:
        collected.lost += 1
    return collected


class Sorter:
    """Takes the images of a stream in file order. pending: images of the incomplete interval."""

    def __init__(self, collected: Collected):
        self.collected = collected
        self.pending: list[Image] = []
        self._suspect: int | None = None
        self._last = -1

    def take(self, image: Image) -> bool:
        """Take the next image; return whether it completed its interval."""
        collected = self.collected
        if image.after_hole:
            self._suspect = _after_hole(collected, image, self.pending)
        if image.kind == stream_files.INTERVAL:
            _commit(collected, image, self.pending, spoiled=image.interval == self._suspect)
            self.pending, self._suspect, self._last = [], None, image.interval
            return True
        if image.kind == stream_files.NODES:
            self.pending.append(image)
            if image.interval > self._last + 1:
                collected.nodes.append(None)
            collected.nodes.append(collected.source.array_at(image.offset, image.length).copy())
        elif image.kind in collected.kinds:
            self.pending.append(image)
        else:
            _take_object(collected, image)
        return False


def first_metadata(source: Source) -> Metadata:
    """Find and check the metadata of a stream.

    Raises: NoDataError if it is not a stream or has none.
    """
    where = source.path
    if not source.size:
        raise NoDataError(f"{where}: empty file: the program ended before its first interval, or the disk was full")
    head = source.bytes_at(0, stream_files.HEADER.size)
    if head == b"gmon\x01" + bytes(15):
        raise NoDataError(f"{where}: a classic gmon.out, not a stream: name it gmon.out and give --exe")
    for image in stream_files.walk(source, Damage()):
        if image.kind == stream_files.METADATA:
            return parse_metadata(source.bytes_at(image.offset, min(image.length, MOST_BYTES)), where)
    if source.find(stream_files.MAGIC, 0, source.size) < 0:
        raise NoDataError(f"{where}: not an incprof stream: give a directory that incprof record wrote")
    raise NoDataError(f"{where}: the stream has no metadata, its start is damaged: record the program again")


def end_of(source: Source) -> dict[str, Any]:
    """Return the totals of a recording that has ended; empty without its last image."""
    tail = source.bytes_at(max(source.size - TAIL_BYTES, 0), TAIL_BYTES)
    at = tail.rfind(stream_files.MAGIC)
    if at < 0 or len(tail) - at < stream_files.HEADER.size:
        return {}
    _, kind, _, _, length, _ = stream_files.HEADER.unpack_from(tail, at)
    begin = at + stream_files.HEADER.size
    if kind != stream_files.END or begin + length != len(tail):
        return {}
    try:
        end = parse_json(tail[begin:])
    except ValueError:
        return {}
    return end if isinstance(end, dict) else {}


def _after_hole(collected: Collected, image: Image, pending: list[Image]) -> int:
    """Discard images that a hole may have separated; return the interval whose start the hole may have swallowed."""
    if any(other.interval != image.interval for other in pending):
        collected.lost += 1
    pending.clear()
    collected.nodes.append(None)
    return image.interval


def _take_object(collected: Collected, image: Image) -> None:
    """Take an image that belongs to the run: new modules, or its end."""
    if image.kind == stream_files.END:
        collected.ended = True
    elif image.kind == stream_files.MODULES:
        try:
            text = collected.source.bytes_at(image.offset, min(image.length, MOST_BYTES))
            modules = parse_modules(text, collected.source.path)
        except NoDataError:
            collected.bad_images += 1
            return
        for module in modules:
            collected.modules.setdefault(module.id, module)


def _commit(collected: Collected, last: Image, pending: list[Image], *, spoiled: bool) -> None:
    """Close an interval with its kind-2 image, or count it as lost."""
    n = min(last.length // 8, COUNTERS)
    counters = struct.unpack(f"<{n}Q", collected.source.bytes_at(last.offset, 8 * n)) + (0,) * (COUNTERS - n)
    if spoiled or not max(collected.end_ns, counters[0]) < counters[1] < MAX_NS:
        collected.lost += 1
        return
    members = [image for image in pending if image.interval == last.interval]
    collected.bad_images += len(pending) - len(members)
    collected.ended = False  # a program that announced an exec, which then failed
    collected.add(counters, [image for image in members if image.kind != stream_files.NODES])


# The metadata object of a recording, checked (docs/reference/formats.md, kind 1).


DEFAULT_INTERVAL_S, DEFAULT_RATE_HZ = 1.0, 100.0
MAX_MODULES = 65534
MOST_CALL_PS = 10**6
# Enough for a line of JSON for each of MAX_MODULES modules.
MOST_BYTES = 64 << 20
# Newest supported version: a later one may give the same bytes another meaning.
VERSION = 1
MAP = re.compile(r"perf-\d{1,10}\.map", re.ASCII)


def parse_metadata(text: bytes, where: str) -> Metadata:
    """Parse metadata from JSON text; `where` names the file in messages.

    Raises: NoDataError if it is not a JSON object or contains an invalid number; IncprofError if a later version wrote
    it.
    """
    raw = _load(text, where)
    if not isinstance(raw, dict):
        raise NoDataError(f"{where}: the metadata is not a JSON object: record the program again")
    version = _integer(raw.get("version"))
    if version is not None and version > VERSION:
        raise IncprofError(f"{where}: format version {version} is newer than this incprof's ({VERSION}): update it")
    exe = raw.get("exe")
    app = str(raw.get("app") or (Path(exe).name if isinstance(exe, str) and exe else "app"))
    return Metadata(
        app=app,
        exe=str(exe) if exe else None,
        rank=_integer(raw.get("rank")) or 0,
        ranks=_integer(raw.get("ranks")),
        interval_s=_positive(raw, "interval_s", DEFAULT_INTERVAL_S, where),
        rate_hz=_positive(raw, "rate_hz", DEFAULT_RATE_HZ, where),
        modules=_as_started(_modules(raw.get("modules"), exe, raw.get("build_id")), app, exe, raw.get("argv")),
        raw=raw,
        call_s=_call_s(raw.get("call_ps")),
        ordered=bool(raw.get("ordered", True)),
    )


def _as_started(modules: tuple[Module, ...], app: str, exe: object, argv: object) -> tuple[Module, ...]:
    """Set the name by which the program's file was started: `redis-server` is a link to `redis-check-rdb`."""
    if not isinstance(exe, str) or not isinstance(argv, list):
        return modules
    words = [word for word in argv if isinstance(word, str)]
    if script_name(exe, words) or program_name(exe, words) != app:
        return modules
    return tuple(replace(m, started=app) if m.id == 0 and m.path == exe else m for m in modules)


def parse_modules(text: bytes, where: str) -> tuple[Module, ...]:
    """Return the modules of a kind-5 image.

    Raises: NoDataError if it is not JSON.
    """
    return _modules(_load(text, where))


def _load(text: bytes, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise NoDataError(f"{where}: the metadata is damaged: record the program again") from error


def _modules(items: object, exe: object = None, build_id: object = None) -> tuple[Module, ...]:
    """Return modules by id; invalid objects are left out. If there are none, the executable is module 0."""
    by_id: dict[int, Module] = {}
    for item in items if isinstance(items, Iterable) and not isinstance(items, str | bytes | dict) else ():
        if isinstance(item, dict) and (module := _module(item)) is not None:
            by_id.setdefault(module.id, module)
    if not by_id and exe:
        by_id[0] = Module(0, str(exe), str(build_id) if build_id else None, 0, 0, True)
    return tuple(by_id[key] for key in sorted(by_id))


def _call_s(picoseconds: object) -> float | None:
    """Return the cost of counting a call, seconds; None if the value is implausible."""
    number = _integer(picoseconds)
    return number * 1e-12 if number is not None and 0 < number <= MOST_CALL_PS else None


def _module(item: dict[str, Any]) -> Module | None:
    number, path = _integer(item.get("id")), item.get("path")
    if number is None or not 0 <= number < MAX_MODULES or not isinstance(path, str):
        return None
    build_id = item.get("build_id")
    low, high = _address(item.get("low")), _address(item.get("high"))
    app, counts = bool(item.get("app", True)), bool(item.get("counts", True))
    imports = item.get("imports")
    called = {_address(at): str(name) for at, name in imports.items()} if isinstance(imports, dict) else {}
    build_id_text = str(build_id) if build_id else None
    return Module(number, path, build_id_text, low, high, app, counts, called, _code(item), _map(item.get("map")))


def _map(name: object) -> str | None:
    """Return the name of a perf map; it comes from the recording, and must not lead to another directory."""
    return name if isinstance(name, str) and MAP.fullmatch(name) else None


def _code(item: dict[str, Any]) -> Code | None:
    """Return the function that a module is, if it is one."""
    name, line, version, table = (item.get(key) for key in ("function", "line", "python", "lines"))
    if not isinstance(name, str) or not name:
        return None
    try:
        line_table = bytes.fromhex(table) if isinstance(table, str) else b""
    except ValueError:
        line_table = b""
    return Code(name, _integer(line) or 0, _integer(version) or 0, line_table)


def _address(value: object) -> int:
    """Parse an address written as a number or a hexadecimal string; 0 if it is neither."""
    try:
        return int(value, 16) if isinstance(value, str) else _integer(value) or 0
    except ValueError:
        return 0


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _positive(raw: dict[str, Any], key: str, default: float, where: str) -> float:
    """Return a positive finite number, or the default if the key is missing."""
    value = raw.get(key, default)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or not 0 < value < 1e12 or not math.isfinite(value):
        shown = repr(value)[:40]
        raise NoDataError(f"{where}: {key} is {shown}, not a positive number: record the program again")
    return float(value)
