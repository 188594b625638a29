"""Read the samples of waiting threads (docs/reference/formats.md, kind 9). m spans, s sites.

Threads that live less than an interval, as in a server with a thread for each request, count as one thread: each alone
has next to no time, and few of them have a sample of what they wait for, which stands for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.readers.stream.interval_images import WAITS, RecordedPaths, interval_images, recorded_paths
from incprof.readers.stream.waits import Decoded, Frames, decode

NOT_BLOCKED, BLOCKED, ONE_WAIT, BRIEF = range(4)
US = 1e-6
MAIN_THREAD = 0
# A thread that has more of the run than this lives long, however short the run.
MOST = 0.5


@dataclass(frozen=True)
class Site:
    """A place at which threads wait.

    Attributes:
        node: of the innermost application frame; 0: none.
        frames: library functions further in, innermost first: indices of the paths' functions.
        modules: their module ids.
    """

    node: int
    frames: tuple[int, ...]
    modules: tuple[int, ...]


@dataclass(frozen=True)
class Waits:
    """The spans of all threads' time between samples, in the order of their intervals.

    Attributes:
        begin_s: (m,) seconds since the start of the run.
        end_s: (m,) likewise.
        thread: (m,) numbers as those of samples.
        waited_s: (m,) seconds off the processors.
        delayed_s: (m,) seconds ready to run, without a processor.
        samples: (m,) number of samples.
        state: (m,) NOT_BLOCKED, BLOCKED at the end of the span, ONE_WAIT: all of it in this wait, or BRIEF: blocked,
            but not any more once the call path had been read.
        site: (m,) index of `sites`; -1: unknown.
        call: (m,) number of the system call; -1: none.
        object: (m,) what its descriptor is, see formats.md.
        holder: (m,) thread that holds the lock; -1: unknown.
        sites: where threads wait.
        paths: call paths and functions.
        taken: number of samples.
        left_out: number of samples left out because the budget was spent.
        own_s: CPU seconds that the samples took.
        refused: the kernel denied what threads are blocked in.
        damaged: number of images that cannot be read.
        arch: of the system calls' numbers.
        short: threads that count as one, which has the number of the first.
    """

    begin_s: FloatArray
    end_s: FloatArray
    thread: IntArray
    waited_s: FloatArray
    delayed_s: FloatArray
    samples: IntArray
    state: IntArray
    site: IntArray
    call: IntArray
    object: IntArray
    holder: IntArray
    sites: tuple[Site, ...]
    paths: RecordedPaths
    taken: int
    left_out: int
    own_s: float
    refused: bool
    damaged: int
    arch: str
    short: tuple[int, ...] = ()


def read_waits(path: str, directory: str, *, arch: str = "x86_64", exe: str | None = None) -> Waits | None:
    """Read the samples of waiting threads of a process; None if there are none.

    Args:
        path: of its stream.
        directory: of the run.
        arch: of the machine, as the recording has it.
        exe: replaces the recorded program's symbols.

    Raises: NoDataError if it is not a stream, has no metadata or cannot be read, or `exe` is another program.
    """
    images = list(interval_images(path, WAITS))
    if not images:
        return None
    decoded = decode(images)
    frames = [frame for _, chain in decoded.sites for frame in chain]
    module = np.array([number for number, _ in frames], dtype=np.int64)
    address = np.array([place for _, place in frames], dtype=np.uint64)
    paths = recorded_paths(path, directory, exe=exe, module=module, address=address)
    return waits_from(decoded, _named(decoded.sites, paths), paths, arch)


def _named(sites: Sequence[tuple[int, Frames]], paths: RecordedPaths) -> tuple[Site, ...]:
    """Return the sites with the functions of their frames."""
    code, nodes = iter(paths.code.tolist()), len(paths.tree.parent)
    return tuple(
        Site(node if node < nodes else 0, tuple(next(code) for _ in frames), tuple(module for module, _ in frames))
        for node, frames in sites
    )


def waits_from(decoded: Decoded, sites: tuple[Site, ...], paths: RecordedPaths, arch: str) -> Waits:
    """Return the waits, given the names of sites and paths."""
    spans = decoded.spans
    begin_us, length_us = spans[:, 0].astype(np.float64), spans[:, 1].astype(np.float64)
    return Waits(
        begin_s=begin_us * US,
        end_s=(begin_us + length_us) * US,
        thread=spans[:, 2],
        waited_s=np.minimum(spans[:, 3], length_us) * US,
        delayed_s=np.minimum(spans[:, 4], length_us) * US,
        samples=spans[:, 5] >> 2,
        state=spans[:, 5] & 3,
        site=spans[:, 6] - 1,
        call=spans[:, 7] - 1,
        object=spans[:, 8],
        holder=spans[:, 9] - 1,
        sites=sites,
        paths=paths,
        taken=sum(head[0] for head in decoded.heads),
        left_out=sum(head[1] for head in decoded.heads),
        own_s=sum(head[2] for head in decoded.heads) * US,
        refused=any(head[3] for head in decoded.heads),
        damaged=decoded.damaged,
        arch=arch,
    )


def with_short_threads_joined(waits: Waits, interval_s: float) -> Waits:
    """Return the waits with the first number of all short threads for each of them, if there are several.

    Args:
        waits: of the process.
        interval_s: length of a recorded interval.
    """
    if not len(waits.thread):
        return waits
    size = int(max(waits.thread.max(), waits.holder.max())) + 1
    wall_s = np.bincount(waits.thread, weights=waits.end_s - waits.begin_s, minlength=size)
    run_s = float(waits.end_s.max() - waits.begin_s.min())
    is_short = wall_s < min(interval_s, MOST * run_s)
    is_short[MAIN_THREAD] = False
    short = np.flatnonzero(is_short)
    if len(short) < 2:
        return waits
    number = np.where(is_short, short[0], np.arange(size))
    holder = np.where(waits.holder >= 0, number[waits.holder], -1)
    return replace(waits, thread=number[waits.thread], holder=holder, short=tuple(short.tolist()))
