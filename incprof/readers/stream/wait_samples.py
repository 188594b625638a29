"""Waits as samples, for programs that hardly use a processor: the places at which they wait show what they do when.

m spans, s samples.
"""

from __future__ import annotations

import numpy as np

from incprof.model import LIBRARY, OWN, UNKNOWN, BoolArray, IntArray, positions
from incprof.readers.stream.coded_records import RawSamples
from incprof.readers.stream.collect import Collected
from incprof.readers.stream.interval_images import WAITS, interval_images
from incprof.readers.stream.wait_images import Decoded, decode

# A program waits nearly all the time if it has fewer ticks than this share of a busy thread's: then a phase of work is
# one of waiting as well (analysis/features.py).
WORKS = 0.05
# A sample of at most this many ticks is one moment (analysis/phases/sequence.py); so long are the pieces of a wait.
PIECE = 8
# Most pieces: in a longer run, pieces are longer.
MOST = 1 << 20
# A wait of the main thread for other threads: system calls of locks, and of joins.
FUTEX = {"x86_64": 202, "aarch64": 98}
MAIN_THREAD = 0
ONE_WAIT = 2  # the state of a span that is all of one wait
MOST_OF_RUN = 0.5


def wait_samples(collected: Collected) -> tuple[RawSamples, IntArray] | None:
    """Return samples of waits, and the interval of each; None unless the program waits nearly all the time.

    They are of the main thread, and where that waits for others, of these as well; not of threads that wait at one
    site, unless all do.
    """
    start_ns, end_ns, ticks = (collected.counters[:, at].astype(np.float64) for at in (0, 1, 7))
    if ticks.sum() >= WORKS * 1e-9 * collected.metadata.rate_hz * (end_ns - start_ns).sum():
        return None
    decoded = decode(list(interval_images(collected.source.path, WAITS)))
    if not len(decoded.spans):
        return None
    samples = _samples(collected, decoded, FUTEX.get(str(collected.metadata.raw.get("arch")), -1))
    return samples if len(samples[1]) else None


def _samples(collected: Collected, decoded: Decoded, futex: int) -> tuple[RawSamples, IntArray]:
    """Return the samples of spans. futex: number of that system call."""
    spans = decoded.spans[np.lexsort((decoded.spans[:, 0], decoded.spans[:, 2]))]
    begin, length, thread, waited = spans[:, :4].T
    blocked = (spans[:, 5] & 3) > 0
    # A thread that runs at the end of a span has mostly waited in what it was blocked in at the beginning.
    follows = np.append(False, (np.diff(thread) == 0) & blocked[:-1])[: len(spans)]
    wait = np.arange(len(spans)) - (~blocked & follows)
    ticks = np.where(blocked[wait], np.minimum(waited, length), 0) * (1e-6 * collected.metadata.rate_hz)
    many = np.ceil(ticks / max(PIECE, float(ticks.sum()) / MOST)).astype(np.int64)
    of = np.repeat(np.arange(len(spans)), many)
    part = (positions(many) + 0.5) / many[of]
    time_us = (begin[of] + part * length[of]).astype(np.int64)
    # Between two waits, the first half of a span belongs to the one before.
    is_before = (part < 0.5) & ((spans[of, 5] & 3) != ONE_WAIT) & follows[of]
    wait_of = np.where(is_before, of - 1, wait[of])
    weight = np.diff(np.floor(np.cumsum(ticks[of] / many[of]) + 0.5), prepend=0.0).astype(np.int64)
    for_others = (thread == MAIN_THREAD) & blocked[wait] & (spans[wait, 7] == futex + 1)
    leads = (thread[of] == MAIN_THREAD) | _inside(begin, begin + length, for_others, time_us)
    leads &= weight > 0
    active = leads & ~_idle(spans)[thread[of]]
    keep = np.flatnonzero(active if active.any() else leads)
    keep = keep[np.argsort(time_us[keep], kind="stable")]
    start_us, end_us = (collected.counters[:, at].astype(np.int64) // 1000 for at in (0, 1))
    interval = np.minimum(np.searchsorted(end_us, time_us[keep]), len(end_us) - 1)
    delay = np.maximum(time_us[keep] - start_us[interval], 0)
    node, module = _places(decoded, spans[wait_of[keep], 6])
    kind = np.where(module >= 0, LIBRARY, np.where(node > 0, OWN, UNKNOWN))
    return RawSamples(interval, delay, thread[of[keep]], node, kind, module, weight[keep]), interval


def _places(decoded: Decoded, site: IntArray) -> tuple[IntArray, IntArray]:
    """Return node and module of the library, -1 for none, of sites, (s,), numbered from 1; 0: unknown."""
    node = np.array([0, *(node for node, _ in decoded.sites)], dtype=np.int64)
    module = np.array([-1, *(frames[-1][0] if frames else -1 for _, frames in decoded.sites)], dtype=np.int64)
    return node[site], module[site]


def _idle(spans: IntArray) -> BoolArray:
    """Mark the threads that wait at one site for most of the run, as those of a pool without work, (t,)."""
    thread, blocked = spans[:, 2], (spans[:, 5] & 3) > 0
    size = int(thread.max(initial=-1)) + 1
    sites = np.bincount(np.unique(spans[blocked][:, (2, 6)], axis=0)[:, 0], minlength=size)
    waited = np.bincount(thread, weights=spans[:, 1] * blocked, minlength=size)
    run = float(np.ptp(np.append(spans[:, 0], spans[:, 0] + spans[:, 1])))
    idle: BoolArray = (sites == 1) & (waited > MOST_OF_RUN * run)
    return idle


def _inside(begin: IntArray, end: IntArray, selected: BoolArray, time_us: IntArray) -> BoolArray:
    """Mark the times inside the selected spans of one thread, (s,)."""
    low, high = begin[selected], end[selected]
    inside: BoolArray = np.searchsorted(low, time_us) > np.searchsorted(high, time_us, side="right")
    return inside
