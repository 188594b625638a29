"""The recording of one simulated rank as bytes (docs/reference/formats.md): all of its samples at once, in numpy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from benchmarks.simulated.program import Program
from benchmarks.simulated.story import LEAST_WAIT, LEAVES, WAIT_SCATTER, Story
from incprof.model import LIBRARY, OWN, IntArray
from incprof.readers.gmon_directory import ARC
from incprof.readers.stream.stream_files import (
    END,
    HEADER,
    INTERVAL,
    LIBRARY_TIME,
    MAGIC,
    METADATA,
    NODES,
    OWN_TIME,
    SAMPLES,
)
from tests.unit.streamwriter import BIN, BLOCK_BINS, image, varint, zigzag

ByteArray = npt.NDArray[np.uint8]

MPI_MODULE = 7
# Instructions of a function at which samples fall.
PLACES = 2
MCOUNT = 9  # a call of mcount is this many bytes after a function's beginning
START_UNIX_NS = 1_700_000_000 * 10**9
HISTOGRAM = np.dtype([
    ("tag", "u1"), ("low", "<u8"), ("high", "<u8"), ("bins", "<u4"), ("rate", "<u4"), ("unit", "S15"), ("sign", "S1"),
    ("counts", "<u2", (BLOCK_BINS,)),
])  # fmt: skip


@dataclass(frozen=True)
class Places:
    """Where samples fall: call paths with the address at their end. s places, e calls from function to function.

    Attributes:
        paths: (module, address) frames of each place.
        works: for each phase, its working places, with the cumulative sum of their shares.
        waits: for each phase, the places in which it waits.
        kind: (s,) kind of each place.
        address: (s,) at the end of the path.
        arc_from: (e,) addresses of the calls.
        arc_self: (e,) addresses of the called functions.
        arc_hz: (e, s) calls per second at a place.
    """

    paths: tuple[tuple[tuple[int, int], ...], ...]
    works: tuple[tuple[IntArray, npt.NDArray[np.float64]], ...]
    waits: IntArray
    kind: IntArray
    address: npt.NDArray[np.uint64]
    arc_from: npt.NDArray[np.uint64]
    arc_self: npt.NDArray[np.uint64]
    arc_hz: npt.NDArray[np.float64]


def places(program: Program) -> Places:
    """Find the addresses of all functions in the story's phases."""
    paths, kinds, works, waits = [], [], [], []
    arcs: dict[tuple[int, int], dict[int, float]] = {}
    for leaves in LEAVES:
        own, shares = [], []
        for leaf in leaves:
            names = leaf.path.split()
            frames = [(0, program.call(a, b)) for a, b in pairwise(names)]
            ends = [()] if leaf.waits else [((0, at),) for at in program.sampled(names[-1], PLACES)]
            for end in ends:
                if leaf.waits:
                    waits.append(len(paths))
                else:
                    own.append(len(paths))
                    shares.append(leaf.share / PLACES)
                for a, b in pairwise(names):
                    if b in program.begin:
                        key = (program.call(a, b) + 1, program.begin[b] + MCOUNT)
                        rate = leaf.calls_hz if b == names[-1] else 0.2
                        arcs.setdefault(key, {})[len(paths)] = rate
                paths.append((*frames, *end))
                kinds.append(LIBRARY if leaf.waits else OWN)
        works.append((np.array(own), np.cumsum(shares)))
    arc_hz = np.zeros((len(arcs), len(paths)))
    for row, (_, rates) in enumerate(sorted(arcs.items())):
        arc_hz[row, list(rates)] = list(rates.values())
    ends = np.array(sorted(arcs), dtype=np.uint64)
    address = np.array([path[-1][1] for path in paths], dtype=np.uint64)
    return Places(tuple(paths), tuple(works), np.array(waits), np.array(kinds), address, ends[:, 0], ends[:, 1], arc_hz)


def rank_stream(story: Story, program: Program, at: Places, rank: int) -> bytes:
    """Return the whole file of a rank."""
    options = story.options
    rng = np.random.default_rng([options.seed, 1, rank])
    n = story.intervals(rank)
    per_interval = round(options.rate_hz * options.interval_s)
    ticks = n * per_interval
    # The timer of a thread starts anywhere in its period, and signals arrive slightly late.
    local = (np.arange(ticks) + 0.5 * rng.random() + 0.4 * rng.random(ticks)) / options.rate_hz
    place = _draw(story, at, rank, local, per_interval, rng)
    micro = (local * 1e6).astype(np.int64)
    interval = np.arange(ticks) // per_interval
    start = (np.arange(n + 1) * (options.interval_s * 1e6)).astype(np.int64)
    delay = np.diff(micro, prepend=0)
    delay[::per_interval] = micro[::per_interval] - start[:-1]

    number, nodes = _nodes(at, place, per_interval)
    samples, ends = _samples(delay, number[place], at.kind[place], per_interval)
    count = np.bincount(interval * len(at.paths) + place, minlength=n * len(at.paths)).reshape(n, -1)
    own, own_ends = _histograms(at.address, count * (at.kind == OWN), options.rate_hz)
    library, library_ends = _histograms(at.address, count * (at.kind == LIBRARY), options.rate_hz)
    arcs, arc_ends = _arcs(at, count, options.rate_hz, rng)
    counters = _counters(start * 1000, per_interval, options.rate_hz)

    out = [image(METADATA, json.dumps(_metadata(story, program, rank)).encode())]
    for i in range(n):
        if i in nodes:
            out.append(image(NODES, nodes[i], interval=i))
        own_part, arc_part = own[own_ends[i] : own_ends[i + 1]], arcs[arc_ends[i] : arc_ends[i + 1]]
        out += [_head(OWN_TIME, len(own_part) + len(arc_part), i), own_part, arc_part]
        if library_ends[i] < library_ends[i + 1]:
            part = library[library_ends[i] : library_ends[i + 1]]
            out += [_head(LIBRARY_TIME, len(part), i), part]
        part = samples[ends[i] : ends[i + 1]]
        out += [_head(SAMPLES, len(part), i), part, _head(INTERVAL, 112, i), counters[112 * i : 112 * i + 112]]
    out.append(image(END, b"{}", interval=n))
    return b"".join(out)


def _draw(
    story: Story, at: Places, rank: int, local: npt.NDArray[np.float64], per_interval: int, rng: np.random.Generator
) -> IntArray:
    """Draw the place of each sample, shape (ticks,)."""
    phase = story.phase_at(rank, story.true_time(rank, local))
    scatter = WAIT_SCATTER * rng.standard_normal(len(local) // per_interval)
    chance = story.waits[rank][phase] + np.repeat(scatter, per_interval)
    waiting = rng.random(len(local)) < np.clip(chance, 0.0, 1.0 - LEAST_WAIT)
    place: IntArray = at.waits[phase]
    u = rng.random(len(local))
    for one, (own, cumulative) in enumerate(at.works):
        here = np.flatnonzero((phase == one) & ~waiting)
        place[here] = own[np.minimum(np.searchsorted(cumulative, u[here], side="right"), len(own) - 1)]
    return place


def _nodes(at: Places, place: IntArray, per_interval: int) -> tuple[IntArray, dict[int, bytes]]:
    """Return node numbers of places, (s,), and the node images by interval: a node is written when it first occurs."""
    used, first = np.unique(place, return_index=True)
    number, known = np.zeros(len(at.paths), dtype=np.int64), dict[tuple[int, int, int], int]()
    new: dict[int, list[tuple[int, int, int, int]]] = {}
    for tick, one in sorted(zip(first.tolist(), used.tolist(), strict=True)):
        parent = 0
        for module, address in at.paths[one]:
            key = (parent, module, address)
            if key not in known:
                known[key] = len(known) + 1
                new.setdefault(tick // per_interval, []).append((known[key], *key))
            parent = known[key]
        number[one] = parent
    return number, {interval: _node_payload(rows) for interval, rows in new.items()}


def _node_payload(rows: list[tuple[int, int, int, int]]) -> bytes:
    out, before = varint(rows[0][0]) + varint(len(rows)), 0
    for own, parent, module, address in rows:
        out += varint(own - parent) + varint(module) + zigzag(address - before)
        before = address
    return out


def _samples(delay: IntArray, node: IntArray, kind: IntArray, per_interval: int) -> tuple[bytes, list[int]]:
    """Return sample payloads one after the other, and where each begins and ends; thread 0, weight 1."""
    code = node * 8 + kind * 2
    table = np.empty((len(delay), 7), dtype=np.uint8)
    table[:, 0] = delay & 0x7F | np.where(delay > 0x7F, 0x80, 0)
    table[:, 1] = delay >> 7 & 0x7F | np.where(delay > 0x3FFF, 0x80, 0)
    table[:, 2] = delay >> 14
    table[:, 3] = 0
    table[:, 4] = code & 0x7F | np.where(code > 0x7F, 0x80, 0)
    table[:, 5] = code >> 7
    table[:, 6] = MPI_MODULE
    there = np.ones(table.shape, dtype=np.bool_)
    there[:, 1], there[:, 2], there[:, 5] = delay > 0x7F, delay > 0x3FFF, code > 0x7F
    there[:, 6] = kind == LIBRARY
    length = there.sum(axis=1).reshape(-1, per_interval).sum(axis=1)
    return table[there].tobytes(), [0, *np.cumsum(length).tolist()]


def _histograms(address: npt.NDArray[np.uint64], count: IntArray, rate_hz: int) -> tuple[bytes, list[int]]:
    """Return the histogram records of all intervals, count (n, s), and where those of each begin and end."""
    size = BIN * BLOCK_BINS
    block, where = np.unique(address // np.uint64(size), return_inverse=True)
    bins = np.zeros((len(count), len(block), BLOCK_BINS), dtype=np.uint16)
    column = (address % np.uint64(size) // np.uint64(BIN)).astype(np.int64)
    for place in range(len(address)):
        bins[:, where[place], column[place]] += count[:, place].astype(np.uint16)
    row, which = np.nonzero(bins.any(axis=2))
    records = np.zeros(len(row), dtype=HISTOGRAM)
    low = block[which] * np.uint64(size)
    records["low"], records["high"], records["bins"], records["rate"] = low, low + np.uint64(size), BLOCK_BINS, rate_hz
    records["unit"], records["sign"], records["counts"] = b"seconds", b"s", bins[row, which]
    ends = np.cumsum(np.bincount(row, minlength=len(count))) * HISTOGRAM.itemsize
    return records.tobytes(), [0, *ends.tolist()]


def _arcs(at: Places, count: IntArray, rate_hz: int, rng: np.random.Generator) -> tuple[bytes, list[int]]:
    """Return the arc records of all intervals, and where those of each begin and end."""
    calls = rng.poisson(count @ at.arc_hz.T / rate_hz)
    row, which = np.nonzero(calls)
    records = np.zeros(len(row), dtype=ARC)
    records["tag"], records["from_pc"], records["self_pc"] = 1, at.arc_from[which], at.arc_self[which]
    records["count"] = calls[row, which]
    ends = np.cumsum(np.bincount(row, minlength=len(count))) * ARC.itemsize
    return records.tobytes(), [0, *ends.tolist()]


def _counters(start_ns: IntArray, samples: int, rate_hz: int) -> bytes:
    """Return the payloads of the interval images, start_ns (n + 1,): one thread that is always on the CPU."""
    table = np.zeros((len(start_ns) - 1, 14), dtype="<u8")
    table[:, 0], table[:, 1] = start_ns[:-1], start_ns[1:]
    table[:, 3] = start_ns[1:] - start_ns[:-1]
    table[:, 2] = samples * 10**9 // rate_hz
    table[:, 4], table[:, 5] = 20_000, 2_000 * samples
    table[:, 6] = table[:, 7] = samples
    table[:, 11] = 1
    return table.tobytes()


def _head(kind: int, length: int, interval: int) -> bytes:
    return HEADER.pack(MAGIC, kind, 0, 0, length, interval)


def _metadata(story: Story, program: Program, rank: int) -> dict[str, object]:
    options, exe = story.options, str(program.exe.resolve())
    top = max(begin + program.size[name] for name, begin in program.begin.items())
    node = rank // options.per_node
    unix = START_UNIX_NS + round((story.starts_s[rank] + story.offset_s[rank]) * 1e9)
    mpi = str(program.exe.resolve().parent / "libmpi.so.40")
    return {
        "format": "incprof-stream", "version": 1, "tool": "simulator", "app": program.exe.name, "exe": exe,
        "build_id": program.build_id, "argv": [exe], "cwd": str(program.exe.resolve().parent), "host": f"node{node:04}",
        "pid": 1000 + rank, "ppid": 1, "rank": rank, "ranks": options.ranks, "launch": "simulated",
        "interval_s": options.interval_s, "rate_hz": options.rate_hz, "clock": "cpu", "start_unix_ns": unix,
        "start_mono_ns": (node + 1) * 10**12 + round(story.starts_s[rank] * 1e9), "arch": "x86_64", "forked": False,
        "modules": [
            {"id": 0, "path": exe, "build_id": program.build_id, "base": "0x555555554000", "low": "0x1000",
             "high": hex(top), "app": True},
            {"id": MPI_MODULE, "path": mpi, "build_id": None, "base": "0x7ffff7dd0000", "low": "0x1000",
             "high": "0x2000", "app": False},
        ],
    }  # fmt: skip
