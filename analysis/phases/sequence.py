"""The samples of a run in order of time, each with its call path; ticks without a sample are waiting.

s samples and waiting ticks, u distinct paths, d frames at most, q nodes of a call tree.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Row
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array

from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile, positions
from incprof.model.calltree import CallTree, outermost
from incprof.model.names import is_entry, is_python_entry, is_python_import
from incprof.model.profile import BROKEN
from incprof.model.time_use import in_runtime, tree_ticks, working

# Entries of `Sequence.frame` that are no function: after the last frame of a path, and of a waiting tick.
SELF, WAITING = -1, -2
# A thread without a tick for this long, and for this many periods, waits; for less it may be waiting for a processor.
WAITS_S, WAITS_PERIODS = 0.2, 4.0
# In a program with a tick in this share of all periods, missing ticks belong to a thread that lost its processor.
BUSY = 0.95
# A sample of at most this many ticks stands for those due just before it; one of more, for its whole interval.
# Of so many ticks one is kept: a late sample shows one of its ticks, and as many as it has would scatter far more than
# counting explains.
LATE = 8
# Most frames of a path that are followed: deeper ones form no phase of their own.
DEEPEST = 256
# In a long run, every m-th sample is enough: these are 44 minutes at 100 samples a second, and 0.16 s of 12 hours.
MOST = 1 << 18
# A thread with a smaller share of the samples than this, or half of an equal share, does not lead the others.
LEADS, OF_SHARE = 0.3, 0.5


@dataclass(frozen=True)
class Sequence:
    """Samples and waiting ticks in order of time.

    Attributes:
        time_s: (s,) seconds since the start of the run.
        path: (s,) row in `frame`.
        frame: (u, d) functions of each path from the outermost frame in, followed by SELF, or by WAITING where the
            thread waits below it.
        period_s: from one entry to the next where the program is busy, seconds.
        begins: entry functions of the program.
        imports: functions of Python that import modules.
        blur: number of samples within which the order is unknown: those of an interval where samples have no times.
    """

    time_s: FloatArray
    path: IntArray
    frame: IntArray
    period_s: float
    begins: frozenset[int] = frozenset()
    imports: frozenset[int] = frozenset()
    blur: int = 0

    def __len__(self) -> int:
        """Return the number of samples and waiting ticks."""
        return len(self.time_s)

    def at_depth(self, paths: IntArray, depth: int) -> IntArray:
        """Return the frame of some paths, (m,), at some depths, (m,): a function, SELF or WAITING."""
        out: IntArray = self.frame[paths, min(depth, self.frame.shape[1] - 1)]
        return out

    @property
    def innermost(self) -> IntArray:
        """Return the innermost function of each path, (u,); WAITING where the thread waits."""
        present = self.frame >= 0
        last = np.maximum(present.shape[1] - 1 - np.argmax(present[:, ::-1], axis=1), 0)
        waits = self.frame[:, -1] == WAITING
        out: IntArray = np.where(waits, WAITING, self.frame[np.arange(len(self.frame)), last])
        return out

    @property
    def is_import(self) -> BoolArray:
        """Mark the samples that import modules of Python, (s,)."""
        out: BoolArray = np.take(np.isin(self.frame, sorted(self.imports)).any(axis=1), self.path)
        return out

    def select(self, samples: IntArray) -> Sequence:
        """Return some samples, (m,), in this order as a sequence; times stay."""
        return replace(self, time_s=self.time_s[samples], path=self.path[samples])


@dataclass(frozen=True)
class _Ticks:
    """Ticks in order of time.

    Attributes:
        time_s: (s,) seconds.
        node: (s,) node of the call tree, or the function.
        cut: (s,) whether the outer frames of the path are unknown, or those of another thread.
        spins: (s,) whether the thread waits in the OpenMP run-time for the others of its team.
        kept: (s,) whether the tick is an observation of its own, not a copy of a late one.
    """

    time_s: FloatArray
    node: IntArray
    cut: BoolArray
    spins: BoolArray
    kept: BoolArray

    def select(self, use: BoolArray) -> _Ticks:
        """Return some ticks, (s,)."""
        return _Ticks(self.time_s[use], self.node[use], self.cut[use], self.spins[use], self.kept[use])


def sequence_of(profile: IntervalProfile, waits: Row[tuple[float, float]] = ()) -> Sequence:
    """Return the samples of the leading thread (of all, where none leads), with waiting ticks between them.

    Functions replace call paths if the recording has none, or less than half of the time in them.

    Args:
        profile: n intervals.
        waits: begin and end in seconds, ascending, of times in which the other threads' samples are taken too.
    """
    chains, _ = profile.tree.without_recursion()
    ticks_by_path = tree_ticks(profile, chains)
    total = float(profile.self_s.sum()) * profile.metadata.rate_hz
    spinning = float(profile.samples.weight[in_runtime(profile)].sum())
    scale = min(1.0, MOST / max(total, 1.0))
    period_s = 1.0 / (profile.metadata.rate_hz * scale)
    if not float(ticks_by_path[:, np.flatnonzero(chains.function >= 0)].sum()) > (total - spinning) / 2.0:
        ticks = _spread(profile, csc_array(profile.self_s) * (scale * profile.metadata.rate_hz))
        return _with_waiting(profile, ticks, _flat, period_s)
    ticks = _sampled(profile, chains, scale, waits)
    return _with_waiting(profile, ticks, _frames(chains), period_s)


def _sampled(profile: IntervalProfile, chains: CallTree, scale: float, waits: Row[tuple[float, float]]) -> _Ticks:
    """Return the ticks of samples of work, scaled by `scale`, each with its node. waits: see sequence_of."""
    samples, rate = profile.samples, profile.metadata.rate_hz
    node = chains.of_node[samples.node]
    spins = in_runtime(profile)
    use = np.flatnonzero((working(profile) | spins) & (samples.weight > 0) & (node > 0))
    use = use[np.argsort(samples.time_s[use], kind="stable")]
    leads = _leading(samples.thread[use])
    # Spinning samples, too, have the functions in which the leading thread is.
    selected = np.where(spins[use], leads & leads.any(), leads | ~leads.any() | _in_spans(waits, samples.time_s[use]))
    leads, use = (leads | ~leads.any())[selected], use[selected]
    weight = samples.weight[use].astype(np.float64)
    many = np.diff(np.floor(np.cumsum(weight) * scale + 0.5), prepend=0.0).astype(np.int64)
    lag = many.repeat(many) - 1 - positions(many)
    time_s = samples.time_s[use].repeat(many)
    row = profile.interval_of_samples()[use].repeat(many)
    start, end = profile.start_s[row], profile.end_s[row]
    evenly = end - (lag + 0.5) / many.repeat(many) * (end - start)
    is_late = profile.metadata.ordered & (weight.repeat(many) <= LATE)
    time_s = np.where(is_late, np.maximum(time_s - lag / (rate * scale), profile.start_s[0]), evenly)
    order = np.argsort(time_s, kind="stable")
    kept = np.where(is_late, lag == 0, lag % LATE == LATE // 2) | (not profile.metadata.ordered)
    # What another thread does while the leading one waits is below the functions in which that one waits.
    cut = (_outer_unknown(profile)[samples.node[use]] | ~leads).repeat(many)
    return _Ticks(time_s[order], node[use].repeat(many)[order], cut[order], spins[use].repeat(many)[order], kept[order])


def _outer_unknown(profile: IntervalProfile) -> BoolArray:
    """Return whether the frames outside each path node are unknown, (p,)."""
    unknown: BoolArray = profile.paths.function[outermost(profile.paths.parent)] == BROKEN
    return unknown


def _leading(thread: IntArray) -> BoolArray:
    """Mark the leading thread's samples, (m,), or none where none leads. thread: (m,), in order of time.

    That is the first thread; after its last sample the first of the remaining threads, as in parts of several ranks.
    """
    leads, first = np.zeros(len(thread), dtype=bool), 0
    while first < len(thread):
        members = first + np.flatnonzero(thread[first:] == thread[first:].min())
        leads[members] = True
        first = int(members[-1]) + 1
    has = leads.sum() >= max(LEADS, OF_SHARE / max(len(np.unique(thread)), 1)) * len(thread)
    return leads if has else np.zeros_like(leads)


def _in_spans(spans: Row[tuple[float, float]], time_s: FloatArray) -> BoolArray:
    """Mark the times that are inside one of several spans, (m,). spans: begin and end in seconds, ascending."""
    begin, end = np.array(spans, dtype=np.float64).reshape(-1, 2).T
    inside: BoolArray = np.searchsorted(begin, time_s) > np.searchsorted(end, time_s, side="right")
    return inside


def _spread(profile: IntervalProfile, ticks: csc_array) -> _Ticks:
    """Spread ticks of which only the interval is known evenly over it. ticks: sparse (n, f)."""
    table = ticks.tocoo()
    order = np.lexsort((table.row, table.col))
    row, node = table.row[order].astype(np.int64), table.col[order].astype(np.int64)
    rounded = np.floor(np.cumsum(np.maximum(table.data[order], 0.0)) + 0.5)
    many = np.diff(rounded, prepend=0.0).astype(np.int64)
    part = (positions(many) + 0.5) / np.maximum(many.repeat(many), 1)
    length = (profile.end_s - profile.start_s)[row].repeat(many)
    time_s = profile.start_s[row].repeat(many) + part * length
    order = np.argsort(time_s, kind="stable")
    no = np.zeros(len(order), dtype=bool)
    return _Ticks(time_s[order], node.repeat(many)[order], cut=no, spins=no, kept=~no)


def _flat(functions: IntArray) -> IntArray:
    """Return a path of one frame for each function, (u, 2)."""
    out = np.full((len(functions), 2), SELF, dtype=np.int64)
    out[:, 0] = functions
    return out


def _frames(chains: CallTree) -> Callable[[IntArray], IntArray]:
    """Return a function from nodes to the functions on their paths, outermost first, (u, d), followed by SELF."""

    def of(nodes: IntArray) -> IntArray:
        rows = []
        for node in nodes.tolist():
            row = []
            while node > 0:
                function = int(chains.function[node])
                if function >= 0:
                    row.append(function)
                node = int(chains.parent[node])
            rows.append(row[::-1][:DEEPEST])
        out = np.full((len(rows), max(map(len, rows), default=0) + 1), SELF, dtype=np.int64)
        for at, row in enumerate(rows):
            out[at, : len(row)] = row
        return out

    return of


def _with_waiting(
    profile: IntervalProfile, ticks: _Ticks, frames: Callable[[IntArray], IntArray], period_s: float
) -> Sequence:
    """Insert waiting ticks between ticks of work."""
    used, path = np.unique(ticks.node, return_inverse=True)
    own = np.array([not function.imported for function in profile.functions], dtype=bool)
    frame, path = _inside_work(frames(used), path, ticks.spins, own)
    ticks, path = ticks.select(path >= 0), path[path >= 0]
    more, each_s = _waiting_ticks(profile, ticks, period_s)
    frame, path = _completed(frame, path, ticks.cut)
    frame, below = _waited_below(frame, path, more > 0)
    place = np.arange(len(ticks.time_s)) + np.cumsum(more)[:-1]
    size = len(ticks.time_s) + int(more.sum())
    when, which, works = np.empty(size), np.empty(size, dtype=np.int64), np.zeros(size, dtype=bool)
    when[place], which[place], works[place] = ticks.time_s, path, True
    since = np.append(profile.start_s[:1], ticks.time_s)
    when[~works] = np.repeat(since, more) + (positions(more) + 1) * each_s
    which[~works] = np.repeat(below, more[more > 0])
    names = [function.name for function in profile.functions]
    begins = frozenset(at for at, name in enumerate(names) if is_entry(name) or is_python_entry(name))
    imports = frozenset(at for at, name in enumerate(names) if is_python_import(name))
    # Without times, samples of an interval may be in any order.
    blur = 0 if frames is not _flat and profile.metadata.ordered else round(profile.metadata.interval_s / period_s)
    late = max(len(ticks.kept), 1) / max(int(ticks.kept.sum()), 1)
    sequence = Sequence(when, which, frame, period_s * late, begins, imports, blur)
    sequence = sequence.select(np.delete(np.arange(size), place[~ticks.kept]))
    return sequence if len(sequence) <= 2 * MOST else _thinned(sequence)


def _inside_work(frame: IntArray, path: IntArray, spins: BoolArray, own: BoolArray) -> tuple[IntArray, IntArray]:
    """Add paths for spinning samples; return the path of each sample, (s,), -1 for none.

    A thread that spins in a function has the path of all samples of work below that function. Where their paths differ,
    as in a function with several regions, it has none: how long threads spin depends on the load of the processors, and
    the shares of regions must not.

    Args:
        frame: (u, d) of paths.
        path: (s,) of each sample.
        spins: (s,) whether the sample spins.
        own: (f,) whether each function is one of the program.
    """
    if not spins.any():
        return frame, path
    work = frame[np.unique(path[~spins])]
    spinning, which = np.unique(path[spins], return_inverse=True)
    rows = frame[spinning]
    of_row = len(frame) + np.arange(len(rows))
    for number, row in enumerate(rows):
        depth = int(np.flatnonzero((row >= 0) & own[row])[-1:].sum()) + 1
        below = work[(work[:, :depth] == row[:depth]).all(axis=1)]
        row[depth:] = SELF
        if len(below):
            row[:] = below[0]
            of_row[number] = -1 if (below != below[0]).any() else of_row[number]
    frame, place = np.unique(np.vstack([frame, rows]), axis=0, return_inverse=True)
    path = path.copy()
    path[spins] = of_row[which]
    return frame, np.where(path >= 0, place.ravel()[path], -1)


def _completed(frame: IntArray, path: IntArray, cut: BoolArray) -> tuple[IntArray, IntArray]:
    """Add paths for samples whose outer frames are missing or another thread's; return the path of each sample, (s,).

    Such a path continues the frames that the nearest complete paths before and after it share (at either end of the
    run, those that all complete paths share). Of these, those from its own outermost function on are left out: it
    recurs.

    Args:
        frame: (u, d) of paths.
        path: (s,) of each sample, in order of time.
        cut: (s,) whether its outer frames are unknown.
    """
    complete, lost = np.flatnonzero(~cut), np.flatnonzero(cut)
    if not len(lost) or not len(complete):
        return frame, path
    everywhere = _shared(frame[np.unique(path[complete])])
    after = np.searchsorted(complete, lost)
    around = np.pad(path[complete], 1, constant_values=-1)
    cases = np.stack([around[after], path[lost], around[after + 1]], axis=1)
    cases, which = np.unique(cases, axis=0, return_inverse=True)
    rows = []
    for before, own, behind in cases.tolist():
        inner = frame[own][frame[own] >= 0].tolist()
        outer = everywhere if -1 in (before, behind) else _shared(frame[[before, behind]])
        outer = outer[: outer.index(inner[0])] if inner and inner[0] in outer else outer
        rows.append((outer + inner)[:DEEPEST])
    width = max(frame.shape[1], max(map(len, rows)) + 1)
    added = np.array([row + [SELF] * (width - len(row)) for row in rows], dtype=np.int64)
    frame = np.pad(frame, ((0, 0), (0, width - frame.shape[1])), constant_values=SELF)
    path = path.copy()
    path[lost] = len(frame) + which.ravel()
    frame, place = np.unique(np.vstack([frame, added]), axis=0, return_inverse=True)
    return frame, place.ravel()[path]


def _shared(frame: IntArray) -> list[int]:
    """Return the frames that all of some paths, (u, d), share, outermost first."""
    is_shared = np.logical_and.accumulate((frame == frame[0]).all(axis=0) & (frame[0] >= 0))
    shared: list[int] = frame[0, is_shared].tolist()
    return shared


def _waited_below(frame: IntArray, path: IntArray, waits: BoolArray) -> tuple[IntArray, IntArray]:
    """Add paths of waiting, and return the path of each wait: the frames that its neighbouring samples share.

    Args:
        frame: (u, d) of paths.
        path: (s,) of each sample.
        waits: (s + 1,) whether the thread waits before each sample, and after the last one.
    """
    after = np.flatnonzero(waits)
    inside = (after > 0) & (after < len(path))
    pairs = np.stack([path[after[inside] - 1], path[after[inside]]], axis=1)
    pairs, which = np.unique(pairs, axis=0, return_inverse=True)
    one, other = frame[pairs[:, 0]], frame[pairs[:, 1]]
    is_shared = np.logical_and.accumulate((one == other) & (one >= 0), axis=1)
    rows = np.vstack([np.where(is_shared, one, WAITING), np.full((1, frame.shape[1]), WAITING)])
    rows, place = np.unique(rows, axis=0, return_inverse=True)
    below = np.full(len(after), place[-1])
    below[inside] = place[which.ravel()]
    return np.vstack([frame, rows]), len(frame) + below


def _thinned(sequence: Sequence) -> Sequence:
    """Return MOST entries, evenly spaced: a program that waits for days has more waiting ticks than needed."""
    thin = sequence.select(np.arange(MOST) * len(sequence) // MOST)
    by = len(sequence) / MOST
    return replace(thin, period_s=sequence.period_s * by, blur=round(sequence.blur / by))


def delayed_between(profile: IntervalProfile, edge: FloatArray) -> FloatArray:
    """Return the seconds between times, (e,), in which the first thread waited for a processor, (e - 1,)."""
    begin, end, delayed_s = profile.start_s, profile.end_s, profile.counters.delayed_s
    if not len(delayed_s):
        return np.zeros(len(edge) - 1)
    until = np.concatenate([[0.0], np.cumsum(delayed_s)])
    out: FloatArray = np.diff(np.interp(edge, np.append(begin[:1], end), until))
    return out


def _waiting_ticks(profile: IntervalProfile, ticks: _Ticks, period_s: float) -> tuple[IntArray, float]:
    """Return the number of waiting ticks before each tick, and after the last one, (m + 1,), and seconds for each.

    They are as frequent as ticks of work are where the thread works: rare on a busy machine.
    """
    time_s = ticks.time_s
    edge = np.concatenate([profile.start_s[:1], time_s, profile.end_s[-1:]])
    gap_s = np.diff(edge)
    if len(time_s) * period_s >= BUSY * float((profile.end_s - profile.start_s).sum()):
        return np.zeros(len(gap_s), dtype=np.int64), period_s
    # Time outside of all intervals was not recorded, or the program was suspended.
    hole = np.flatnonzero(profile.start_s[1:] > profile.end_s[:-1])
    at = np.clip(np.searchsorted(edge, profile.end_s[hole], side="right") - 1, 0, len(gap_s) - 1)
    np.subtract.at(gap_s, at, profile.start_s[hole + 1] - profile.end_s[hole])
    waits = gap_s - delayed_between(profile, edge) > max(WAITS_S, WAITS_PERIODS * period_s)
    each_s = max(period_s, float(gap_s[~waits].sum()) / max(int((~waits)[np.append(ticks.kept, True)].sum()), 1))
    more: IntArray = np.where(waits, np.round(gap_s / each_s) - 1, 0).astype(np.int64)
    return np.maximum(more, 0), each_s
