"""Count calls within one execution of a loop, and passes through a function, from samples.

If two consecutive samples are in the same function, it may have been called once or a thousand times in between; its
caller shows which. If the caller was at other code of the same loop, or at another call of the function, the loop has
advanced. If it was outside of the loop, the loop was only started again. And code outside of a function's loops, or a
loop as a whole, runs at most once per call: as often as one of them is reached, the function was called. p path nodes,
q call paths, m pairs of samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.uncounted.frames import frames_of
from incprof.model import OUTSIDE_LOOPS, PROFILER, BoolArray, CodeLoops, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.visits import SURE, visits


@dataclass(frozen=True)
class SeenInLoops:
    """Calls of each call path that samples show.

    Attributes:
        again: (q,) calls while the loop that makes them continues; 0 where they may be a small part of all.
        passes: (q,) occurrences of its most frequent part; 0 likewise.
        least: (q,) lower bound of the calls, however many samples missed.
    """

    again: IntArray
    passes: IntArray
    least: IntArray

    @property
    def most(self) -> FloatArray:
        """The larger of both, (q,)."""
        return np.maximum(self.again, self.passes).astype(np.float64)


def seen_in_loops(
    profile: IntervalProfile, chains: CallTree, looks: tuple[IntArray, IntArray] | None = None
) -> SeenInLoops:
    """Count the calls within loops that samples show; none for code that is not available.

    looks: pairs of neighbouring samples to use; by default, all samples that count for time.
    """
    if profile.code_loops is None:
        nothing = np.zeros(len(chains.parent), dtype=np.int64)
        return SeenInLoops(nothing, nothing, nothing)
    first, second = neighbours(profile) if looks is None else looks
    path = _Paths.of(profile, chains, profile.code_loops, second)
    pairs = _Pairs.of(path, profile.samples.node[first].astype(np.int64), profile.samples.node[second].astype(np.int64))
    again, passes = _again(path, pairs), _passes(path, pairs)
    return SeenInLoops(again.surely(), passes.surely(), np.maximum(again.most(), passes.most()))


@dataclass(frozen=True)
class _Paths:
    """The path nodes as call paths and as code.

    Attributes:
        parent: (p,) parent of each node.
        function: (p,) function of each node.
        own: (p,) call path of the function of a node's frame, without code inlined there.
        reached: (p,) the call path right below its caller's.
        part: (p,) of its function: the outermost loop, or the address outside of loops; distinct over the profile.
        samples: (p,) used samples with the node on their stack.
        loops: loops in the code.
        chains: number of call paths.
    """

    parent: IntArray
    function: IntArray
    own: IntArray
    reached: IntArray
    part: IntArray
    samples: IntArray
    loops: CodeLoops
    chains: int

    @classmethod
    def of(cls, profile: IntervalProfile, chains: CallTree, loops: CodeLoops, asked: IntArray) -> _Paths:
        """Build the table of path nodes."""
        parent, function = profile.paths.parent.astype(np.int64), profile.paths.function.astype(np.int64)
        own, reached = frames_of(profile, chains)
        top = loops.outermost()
        address = profile.paths.address.astype(np.int64)
        part = numbered_parts(top, address)
        samples = np.bincount(profile.samples.node[asked], minlength=len(parent))
        for node in range(len(parent) - 1, 0, -1):
            samples[parent[node]] += samples[node]
        return cls(parent, function, own, reached, part, samples, loops, len(chains.parent))


def numbered_parts(top: IntArray, address: IntArray) -> IntArray:
    """Number the parts of functions: outermost loops by their own number, -1 if unknown, else one per address."""
    return np.where(top > OUTSIDE_LOOPS, top, np.where(top == OUTSIDE_LOOPS, -2 - address, -1))


@dataclass(frozen=True)
class _Pairs:
    """Neighbouring samples of threads whose nodes differ; equal pairs are counted together.

    Attributes:
        shared: (m,) the innermost node that both have.
        before: (m,) the earlier sample's node right below, -1 if it ends there.
        after: (m,) the later sample's.
        next: (m,) the node below `after`, or -1.
        end: (m,) node of the later sample.
        times: (m,) number of equal pairs.
    """

    shared: IntArray
    before: IntArray
    after: IntArray
    next: IntArray
    end: IntArray
    times: IntArray

    @classmethod
    def of(cls, path: _Paths, node: IntArray, then: IntArray) -> _Pairs:
        """Find where the paths of two samples diverge."""
        differ = node != then
        both, times = np.unique(np.column_stack([node[differ], then[differ]]), axis=0, return_counts=True)
        one, other = both[:, 0].copy(), both[:, 1].copy()
        depth = _depth(path.parent)
        before, after, below = (np.full(len(one), -1, dtype=np.int64) for _ in range(3))
        while (apart := one != other).any():
            up, other_up = apart & (depth[one] >= depth[other]), apart & (depth[other] >= depth[one])
            before[up], one[up] = one[up], path.parent[one[up]]
            below[other_up], after[other_up] = after[other_up], other[other_up]
            other[other_up] = path.parent[other[other_up]]
        return cls(other, before, after, below, both[:, 1], times)


def neighbours(profile: IntervalProfile) -> tuple[IntArray, IntArray]:
    """Return consecutive samples of each thread, (m,) each: indices."""
    samples = profile.samples
    use = np.flatnonzero(samples.kind != PROFILER)
    use = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
    same = np.diff(samples.thread[use]) == 0
    return use[:-1][same], use[1:][same]


def _depth(parent: IntArray) -> IntArray:
    depth = np.zeros(len(parent), dtype=np.int64)
    for node, above in enumerate(parent.tolist()[1:], start=1):
        depth[node] = depth[above] + 1
    return depth


def _stayed(path: _Paths, pairs: _Pairs) -> BoolArray:
    """Return whether the function that makes the differing calls may be in the same call, at another address."""
    both: BoolArray = (pairs.before >= 0) & (pairs.after >= 0) & (path.function[pairs.after] >= 0)
    both &= path.function[pairs.before] == path.function[pairs.after]
    return both


@dataclass(frozen=True)
class _Seen:
    """Counts by call path and part of the code.

    Attributes:
        times: number of occurrences.
        inside: number of samples in it.
        around: number of samples around it.
        chains: number of call paths.
    """

    times: dict[tuple[int, int], int]
    inside: dict[tuple[int, int], int]
    around: dict[tuple[int, int], int]
    chains: int

    def most(self) -> IntArray:
        """Return the largest count of each call path, (q,)."""
        return self._most(self.times)

    def surely(self) -> IntArray:
        """Return the same over parts of which hardly any occurrence is missed, allowing for chance."""
        kept = {}
        for key, number in self.times.items():
            if visits(round(number + SURE * number**0.5), self.inside[key], self.around[key]).is_known:
                kept[key] = number
        return self._most(kept)

    def _most(self, times: dict[tuple[int, int], int]) -> IntArray:
        out = np.zeros(self.chains, dtype=np.int64)
        for (chain, _), number in times.items():
            out[chain] = max(out[chain], number)
        return out


def _again(path: _Paths, pairs: _Pairs) -> _Seen:
    """Return the calls of each call path from a loop that continued."""
    stayed, at = _stayed(path, pairs), path.loops.at
    caller = np.where(stayed, pairs.after, pairs.shared)
    callee = np.where(stayed, pairs.next, pairs.after)
    loop = at[caller]
    # Another function is called from the same address, or the caller was elsewhere in the loop.
    went_on = (loop > 0) & (callee >= 0) & (~stayed | path.loops.lies_in(at[pairs.before], loop))
    chain = np.where(went_on, path.reached[callee], 0)
    seen = _by_loop(chain[went_on], loop[went_on], pairs.times[went_on])
    nodes = np.flatnonzero((path.reached > 0) & (at[path.parent] > 0))
    inside = _by_loop(path.reached[nodes], at[path.parent[nodes]], path.samples[nodes])
    around: dict[tuple[int, int], int] = {}
    for node in np.flatnonzero(at > 0).tolist():
        loop_here = int(at[node])
        while loop_here:
            key = int(path.own[node]), loop_here
            around[key] = around.get(key, 0) + int(path.samples[node])
            loop_here = int(path.loops.around[loop_here])
    # Frames of several functions may end in the same call path: an inlined function's, and that of the function around.
    # Only one of them has that loop.
    owner = {
        (int(path.reached[node]), int(at[path.parent[node]])): int(path.own[path.parent[node]])
        for node in nodes.tolist()
    }
    return _Seen(seen, inside, {key: around[owner[key], key[1]] for key in inside}, path.chains)


def _passes(path: _Paths, pairs: _Pairs) -> _Seen:
    """Return the passes through each call path: the occurrences of its most frequent part."""
    entered = np.zeros(len(path.parent), dtype=np.int64)
    node = pairs.end.copy()
    new = node != pairs.shared
    while new.any():
        same = _stayed(path, pairs) & (node == pairs.after)
        same &= path.part[node] == path.part[pairs.before]
        np.add.at(entered, node[new & ~same], pairs.times[new & ~same])
        node[new] = path.parent[node[new]]
        new &= node != pairs.shared
    nodes = np.flatnonzero((path.own > 0) & (path.part != -1))
    seen = _by_loop(path.own[nodes], path.part[nodes], entered[nodes])
    inside = _by_loop(path.own[nodes], path.part[nodes], path.samples[nodes])
    whole = np.bincount(path.own, weights=path.samples)
    return _Seen(seen, inside, {key: int(whole[key[0]]) for key in inside}, path.chains)


def _by_loop(chain: IntArray, part: IntArray, times: IntArray) -> dict[tuple[int, int], int]:
    """Sum by call path and part of the code."""
    found: dict[tuple[int, int], int] = {}
    for key_chain, key_part, number in zip(chain.tolist(), part.tolist(), times.tolist(), strict=True):
        if key_chain:
            found[key_chain, key_part] = found.get((key_chain, key_part), 0) + number
    return found
