"""The roof over the phases: what a node can do, measured once and kept; and how near to it a phase comes.

The roofline model of Williams, Waterman and Patterson (Communications of the ACM 52, 2009): a phase of so many
operations per byte from memory does at most as many operations per second as the processors, or as the bandwidth of the
memory times that intensity.
"""

from __future__ import annotations

import errno
import os
import re
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from incprof.errors import IncprofError
from incprof.report.render.json import exact, fields
from incprof.report.words.formatting import decimal_size, percent
from incprof.safe.jsonstore import JsonStore

VERSION = 1
# Each ceiling is the best of REPEATS measurements of SECONDS: short ones, some of which nothing interrupts.
REPEATS, SECONDS = 25, 0.02
# The part of a cache in which the arrays of a measurement lie; memory is measured with LARGEST_CACHE times all caches.
PART_OF_CACHE, LARGEST_CACHE, LEAST_BYTES, PART_OF_MEMORY = 0.5, 4, 64 << 20, 0.25
# With fewer processors busy than this, the ceilings of one thread apply.
ONE = 1.5
MEMORY = "memory"


@dataclass(frozen=True)
class Ceiling:
    """A measured ceiling.

    Attributes:
        best: the largest of several measurements, per second.
        spread: how far below it the median is, as a share of it.
    """

    best: float
    spread: float


@dataclass(frozen=True)
class Roof:
    """The ceilings of so many threads.

    Attributes:
        threads: their number.
        flops: operations in double precision per second.
        bytes_s: traffic per second by level: "L1", "L2", "L3", "memory".
    """

    threads: int
    flops: Ceiling
    bytes_s: Mapping[str, Ceiling]


@dataclass(frozen=True)
class Roofs:
    """The ceilings of a node.

    Attributes:
        host: its name.
        processor: its model; "" if unknown.
        measured_unix_s: when they were measured, seconds since the epoch.
        others: load average before, of other programs; they lower the ceilings, least those of one thread.
        of: of one thread, and of as many as there are processors.
    """

    host: str
    processor: str
    measured_unix_s: float
    others: float
    of: tuple[Roof, ...]


def measure() -> Roofs:
    """Measure the ceilings of this machine, with one thread, and with one for each processor of this process."""
    others, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    roofs = tuple(_roof(threads) for threads in sorted({1, processors}))
    return Roofs(os.uname().nodename, _processor(), time.time(), others, roofs)


def _roof(threads: int) -> Roof:
    sizes = dict(_sizes(threads))
    levels = {name: _ceiling(True, size, threads) for name, size in sizes.items()}
    return Roof(threads, _ceiling(False, 0, threads), levels)


def _ceiling(is_triad: bool, size: int, threads: int) -> Ceiling:
    """Measure operations, or the traffic of a triad with so many bytes in each thread, several times.

    Raises: IncprofError if there is no memory, or no more threads may be created.
    """
    from incprof.analysis._native import native
    from incprof.analysis._native_ffi import ffi

    out, values = ffi.new("double *"), []
    for _ in range(REPEATS):
        if error := native().incprof_roof(is_triad, size, threads, SECONDS, out):
            why = os.strerror(error) if error in errno.errorcode else str(error)
            raise IncprofError(f"the roof of {threads} threads cannot be measured: {why}: choose fewer (taskset)")
        values.append(float(out[0]))
    best = max(values)
    return Ceiling(best, 1 - statistics.median(values) / best if best > 0 else 0.0)


def _sizes(threads: int) -> Iterator[tuple[str, int]]:
    """Yield the levels of memory, and the bytes of a thread's arrays that lie in each."""
    allowed, all_caches = os.sched_getaffinity(0), 0
    for level, size, sharing in _caches():
        own = max(min(len(sharing & allowed), threads), 1)
        yield f"L{level}", int(PART_OF_CACHE * size / own)
        all_caches = max(all_caches, size * -(-len(allowed) // max(len(sharing & allowed), 1)))
    wanted = max(LARGEST_CACHE * all_caches, LEAST_BYTES)
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield MEMORY, int(min(wanted, PART_OF_MEMORY * free) / threads)


def _caches(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> list[tuple[int, int, set[int]]]:
    """Return level, bytes and sharing processors of the data caches of a processor, smallest first."""
    found = []
    for index in sorted(root.glob("index*")):
        try:
            kind, size, shared = ((index / name).read_text().strip() for name in ("type", "size", "shared_cpu_list"))
            level = int((index / "level").read_text())
        except (OSError, ValueError):
            continue
        match = re.fullmatch(r"(\d{1,9})([KM]?)", size)
        if kind != "Instruction" and match:
            found.append((level, int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]], _numbers(shared)))
    return sorted(found, key=lambda cache: cache[0])


def _numbers(text: str) -> set[int]:
    """Parse a list such as 0-3,8."""
    parts = [part.partition("-") for part in text.split(",") if part]
    return {n for low, _, high in parts if low.isdecimal() for n in range(int(low), int(high or low) + 1)}


def _processor() -> str:
    """Return the model of the processor, as the kernel reports it; empty if it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return match[1].strip() if match else ""


# The store: a file for each node, since nodes of a cluster often share a home.


def _directory() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "incprof", "roofline")


def _store(host: str) -> JsonStore:
    return JsonStore(_directory(), re.sub(r"[^A-Za-z0-9.-]", "_", host)[:100] + ".json", VERSION)


def keep(roofs: Roofs) -> str | None:
    """Store the ceilings of a node for later answers; return None, or why they cannot be stored."""
    store = _store(roofs.host)
    try:
        os.makedirs(_directory(), exist_ok=True)
    except OSError as error:
        return f"{_directory()}: {error.strerror}: set XDG_CACHE_HOME"
    store.save(as_json(roofs))
    return None if kept(roofs.host) == roofs else f"{_directory()}: not writable: set XDG_CACHE_HOME"


def kept(host: str) -> Roofs | None:
    """Return the stored ceilings of a node; None if they were not measured."""
    return _store(host).load(_understood)


def as_json(roofs: Roofs) -> dict[str, object]:
    """Return the ceilings as JSON, as they are stored."""
    return {
        **fields(roofs, "host processor measured_unix_s others", exact),
        "roofs": [asdict(roof) for roof in roofs.of],
    }


def _understood(stored: dict[str, Any]) -> Roofs:
    """Return stored ceilings. Raises: ValueError, KeyError or TypeError if they are damaged."""

    def ceiling(one: dict[str, Any]) -> Ceiling:
        best, spread = float(one["best"]), float(one["spread"])
        if not (0 < best < 1e24 and 0 <= spread <= 1):
            raise ValueError("no ceiling")
        return Ceiling(best, spread)

    roofs = tuple(
        Roof(int(one["threads"]), ceiling(one["flops"]), {str(n): ceiling(c) for n, c in one["bytes_s"].items()})
        for one in stored["roofs"]
    )
    if not roofs or any(MEMORY not in roof.bytes_s for roof in roofs):
        raise ValueError("no roof")
    processor, host = str(stored["processor"]), str(stored["host"])
    return Roofs(host, processor, float(stored["measured_unix_s"]), float(stored["others"]), roofs)


def lines(roofs: Roofs) -> list[tuple[str, str]]:
    """Return a line for each number of threads, behind its heading, and one on what lowered the ceilings."""
    out = []
    for roof in roofs.of:
        levels = ", ".join(f"{name} {_rate(one)}" for name, one in roof.bytes_s.items())
        flops = f"{roof.flops.best / 1e9:.3g} Gflop/s (-{percent(roof.flops.spread)})"
        out.append((f"roof, {roof.threads} thread" + "s" * (roof.threads > 1), f"{flops}, {levels}"))
    out.append(("", f"best of {REPEATS} measurements, in brackets how far below it the median is"))
    if roofs.others >= 0.5:
        load = f"the load was {roofs.others:.2g} when it began, which lowers the ceilings"
        out.append(("", f"{load}: measure again on an idle node"))
    return out


def _rate(one: Ceiling) -> str:
    return f"{decimal_size(one.best)}/s (-{percent(one.spread)})"


# Phases under the roof.


@dataclass(frozen=True)
class Place:
    """The place of a phase under the roof.

    Attributes:
        gflops_s: the most that the node can do at the phase's intensity, billions of operations per second.
        share: what the phase does, as a share of it.
        limit: the ceiling above the phase: "memory" or "compute".
        threads: of the ceilings.
    """

    gflops_s: float
    share: float
    limit: str
    threads: int


def place(roofs: Roofs, figures: Mapping[str, object]) -> Place | None:
    """Return the place of a phase under the roof, from its figures; None without operations or their intensity."""
    done, intensity, busy = (figures.get(key) for key in ("gflops_s", "intensity", "cpu"))
    if not isinstance(done, float) or not isinstance(intensity, float) or not done > 0:
        return None
    few = isinstance(busy, float) and busy < ONE
    roof = min(roofs.of, key=lambda each: each.threads if few else -each.threads)
    # Several threads can do what one can, whatever disturbed their measurement.
    below = [each for each in roofs.of if each.threads <= roof.threads]
    by_memory = intensity * max(each.bytes_s[MEMORY].best for each in below) / 1e9
    by_processors = max(each.flops.best for each in below) / 1e9
    most, limit = min((by_memory, MEMORY), (by_processors, "compute"))
    return Place(most, done / most, limit, roof.threads)


def sentence(one: Place, figures: Mapping[str, object]) -> str:
    """Return "2.1 Gflop/s at 0.25 flop/B, 61 % of the roof, which is the memory's"."""

    def number(key: str) -> str:
        return f"{figures[key]:.3g}"

    whose = "the memory's bandwidth" if one.limit == MEMORY else "the processors' operations"
    threads = "one thread" if one.threads == 1 else f"{one.threads} threads"
    return (
        f"{number('gflops_s')} Gflop/s at {number('intensity')} flop/B: {percent(one.share)} of the roof of "
        f"{threads}, {whose} ({one.gflops_s:.3g} Gflop/s)"
    )
