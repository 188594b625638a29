"""Functions whose calls samples show nearly completely, as far as the code determines. q call paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import LIBRARY, OUTSIDE_LOOPS, PROFILER, BoolArray, CodeLoops, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree, inclusive
from incprof.model.names import is_entry
from incprof.model.time_use import SURE, estimate_calls

# Calls seen this often are known to end.
FEWEST_OBSERVED = 3


@dataclass(frozen=True)
class Uncounted:
    """Properties of the calls of each call path, from the code.

    Attributes:
        bounded: (q,) at most few calls lie between samples.
        in_loop: (q,) it is called from within a loop.
        brief: (q,) it runs no loop.
    """

    bounded: BoolArray
    in_loop: BoolArray
    brief: BoolArray


def uncounted_calls(profile: IntervalProfile, chains: CallTree) -> Uncounted | None:
    """Return the properties; None if calls were counted, or if there are no samples."""
    if profile.counted or not len(profile.samples.time_s):
        return None
    code = properties_of_code(profile, chains)
    return Uncounted(calls_are_bounded(profile, chains), code.in_loop, code.brief)


def calls_are_bounded(
    profile: IntervalProfile, chains: CallTree, pairs: tuple[IntArray, IntArray] | None = None
) -> BoolArray:
    """Return whether at most few calls of a call path can lie between two samples unnoticed, (q,).

    This holds if its caller, for which the same holds, calls it outside of loops, or if samples show it to recur while
    the loop continues. If the code is not available (code_is_known), all count as bounded, and samples alone decide.

    pairs: pairs of neighbouring dense samples, for the same test between these.
    """
    size = len(chains.parent)
    if not profile.metadata.ordered:
        return np.zeros(size, dtype=np.bool_)
    if not code_is_known(profile):
        return np.ones(size, dtype=np.bool_)
    code = properties_of_code(profile, chains)
    recurs = calls_in_loops(profile, chains).repeats >= FEWEST_OBSERVED
    if pairs is not None:
        recurs |= calls_in_loops(profile, chains, pairs).repeats >= FEWEST_OBSERVED
    out = np.zeros(size, dtype=np.bool_)
    above: list[frozenset[int]] = [frozenset()]
    for chain in range(1, size):
        parent, function = int(chains.parent[chain]), int(chains.function[chain])
        begins = parent == 0 and function >= 0 and is_entry(profile.functions[function].mangled)
        out[chain] = begins or bool(recurs[chain]) or bool(code.once[chain] and out[parent])
        out[chain] &= function not in above[parent]
        above.append(above[parent] | {function})
    return out


def code_is_known(profile: IntervalProfile) -> bool:
    """Return whether the machine code was available, so that it shows which calls are in loops."""
    return profile.code_loops is not None and bool((profile.code_loops.at >= OUTSIDE_LOOPS).any())


# Count calls within one execution of a loop, and passes through a function, from samples.
#
# If two consecutive samples are in the same function, it may have been called once or a thousand times in between;
# its caller shows which. If the caller was at other code of the same loop, or at another call of the function, the
# loop has advanced. If it was outside of the loop, the loop was only started again. And code outside of a function's
# loops, or a loop as a whole, runs at most once per call: as often as one of them is reached, the function was
# called. p path nodes, q call paths, m pairs of samples.


@dataclass(frozen=True)
class CallsInLoops:
    """Calls of each call path that samples show.

    Attributes:
        repeats: (q,) calls while the loop that makes them continues; 0 where they may be a small part of all.
        passes: (q,) occurrences of its most frequent part; 0 likewise.
        least: (q,) lower bound of the calls, however many samples missed.
    """

    repeats: IntArray
    passes: IntArray
    least: IntArray

    @property
    def most(self) -> FloatArray:
        """The larger of both, (q,)."""
        return np.maximum(self.repeats, self.passes).astype(np.float64)


def calls_in_loops(
    profile: IntervalProfile, chains: CallTree, sample_pairs: tuple[IntArray, IntArray] | None = None
) -> CallsInLoops:
    """Count the calls within loops that samples show; none for code that is not available.

    sample_pairs: pairs of neighbouring samples to use; by default, all samples that count for time.
    """
    if profile.code_loops is None:
        zeros = np.zeros(len(chains.parent), dtype=np.int64)
        return CallsInLoops(zeros, zeros, zeros)
    first, second = neighbours(profile) if sample_pairs is None else sample_pairs
    path = _Paths.of(profile, chains, profile.code_loops, second)
    pairs = _Pairs.of(path, profile.samples.node[first].astype(np.int64), profile.samples.node[second].astype(np.int64))
    repeats, passes = _repeats_in_loops(path, pairs), _passes(path, pairs)
    return CallsInLoops(repeats.surely(), passes.surely(), np.maximum(repeats.most(), passes.most()))


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
    def of(cls, profile: IntervalProfile, chains: CallTree, loops: CodeLoops, samples_used: IntArray) -> _Paths:
        """Build the table of path nodes."""
        parent, function = profile.paths.parent.astype(np.int64), profile.paths.function.astype(np.int64)
        own, reached = frames_of(profile, chains)
        top = loops.outermost()
        address = profile.paths.address.astype(np.int64)
        part = numbered_parts(top, address)
        samples = np.bincount(profile.samples.node[samples_used], minlength=len(parent))
        samples = inclusive(parent, samples).astype(np.int64)
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
        while (is_different := one != other).any():
            up, other_up = is_different & (depth[one] >= depth[other]), is_different & (depth[other] >= depth[one])
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
class _Recurring:
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
            if estimate_calls(round(number + SURE * number**0.5), self.inside[key], self.around[key]).is_known:
                kept[key] = number
        return self._most(kept)

    def _most(self, times: dict[tuple[int, int], int]) -> IntArray:
        out = np.zeros(self.chains, dtype=np.int64)
        for (chain, _), number in times.items():
            out[chain] = max(out[chain], number)
        return out


def _repeats_in_loops(path: _Paths, pairs: _Pairs) -> _Recurring:
    """Return the calls of each call path from a loop that continued."""
    stayed, at = _stayed(path, pairs), path.loops.at
    caller = np.where(stayed, pairs.after, pairs.shared)
    callee = np.where(stayed, pairs.next, pairs.after)
    loop = at[caller]
    # Another function is called from the same address, or the caller was elsewhere in the loop.
    went_on = (loop > 0) & (callee >= 0) & (~stayed | path.loops.lies_in(at[pairs.before], loop))
    chain = np.where(went_on, path.reached[callee], 0)
    counts = _by_loop(chain[went_on], loop[went_on], pairs.times[went_on])
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
    return _Recurring(counts, inside, {key: around[owner[key], key[1]] for key in inside}, path.chains)


def _passes(path: _Paths, pairs: _Pairs) -> _Recurring:
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
    counts = _by_loop(path.own[nodes], path.part[nodes], entered[nodes])
    inside = _by_loop(path.own[nodes], path.part[nodes], path.samples[nodes])
    samples = np.bincount(path.own, weights=path.samples)
    return _Recurring(counts, inside, {key: int(samples[key[0]]) for key in inside}, path.chains)


def _by_loop(chain: IntArray, part: IntArray, times: IntArray) -> dict[tuple[int, int], int]:
    """Sum by call path and part of the code."""
    sums: dict[tuple[int, int], int] = {}
    for key_chain, key_part, number in zip(chain.tolist(), part.tolist(), times.tolist(), strict=True):
        if key_chain:
            sums[key_chain, key_part] = sums.get((key_chain, key_part), 0) + number
    return sums


# Calls inferred from machine code where they were not counted: calls from loops, and functions that return quickly.
#
# Calls of one function right after each other leave no trace in samples. But a call from within a loop is one of
# many, and code that contains no loop, and calls none that does, returns quickly. q call paths.


# Mathematical functions of the C library, and the compilers' replacements for them.
BRIEF_LIBRARIES = ("libm.", "libm-", "libmvec.", "libmvec-", "libimf.", "libsvml.", "libquadmath.", "libgcc_s.")


@dataclass(frozen=True)
class CodeProperties:
    """Properties of each call path.

    Attributes:
        in_loop: (q,) its caller calls it from within a loop.
        once: (q,) its caller calls it outside of loops, at most once per call.
        brief: (q,) it runs no loop.
    """

    in_loop: BoolArray
    once: BoolArray
    brief: BoolArray


def properties_of_code(profile: IntervalProfile, chains: CallTree) -> CodeProperties:
    """Return the properties that the code shows; none for call paths without data on their code."""
    size = len(chains.parent)
    none_set = np.zeros(size, dtype=np.bool_)
    if profile.code_loops is None:
        return CodeProperties(none_set, none_set, none_set)
    where = profile.code_loops.at
    samples, parent = profile.samples, profile.paths.parent
    ticks = inclusive(parent, np.bincount(samples.node, weights=samples.weight, minlength=len(parent)))
    parent, of_node = profile.paths.parent, chains.of_node
    looped, straight = np.zeros(size), np.zeros(size)
    is_long = np.zeros(size, dtype=np.bool_)
    for node in np.flatnonzero(ticks > 0).tolist():
        above = int(parent[node])
        chain = int(of_node[node])
        # A loop, unknown code, or a recursion: its duration is unknown.
        is_long[chain] |= bool(where[node] != OUTSIDE_LOOPS) or (node > 0 and int(of_node[above]) == chain)
        entered = _entered(chains, int(of_node[above]), chain)
        if node and entered and where[above] > OUTSIDE_LOOPS:
            looped[entered] += ticks[node]
        elif node and entered and where[above] == OUTSIDE_LOOPS:
            straight[entered] += ticks[node]
    # Functions of libraries may take long, but not mathematical ones.
    mathematics = [m.id for m in profile.metadata.modules if m.path.rpartition("/")[2].startswith(BRIEF_LIBRARIES)]
    in_library = (profile.samples.kind == LIBRARY) & ~np.isin(profile.samples.library, mathematics)
    is_long[of_node[profile.samples.node[in_library]]] = True
    for chain in range(size - 1, 0, -1):
        is_long[chains.parent[chain]] |= is_long[chain]
    return CodeProperties(looped > straight, straight > looped, ~is_long & (looped + straight > 0))


def repeatedly_called(profile: IntervalProfile) -> set[int]:
    """Return the functions that are called repeatedly by the code: from a loop, or by a function called from one."""
    chains, _ = profile.own_tree.without_recursion()
    code = properties_of_code(profile, chains)
    in_loop = code.in_loop.copy()
    for chain in range(1, len(in_loop)):
        in_loop[chain] |= code.once[chain] & in_loop[chains.parent[chain]]
    return set(chains.function[in_loop].tolist())


def at_least_as_often(chains: CallTree, code: CodeProperties, calls: FloatArray, unsure: BoolArray) -> FloatArray:
    """Return the calls of each call path, (q,): no fewer than those of callees that it calls at most once per call."""
    out = calls.copy()
    for chain in np.flatnonzero(code.once & ~unsure)[::-1].tolist():
        caller = int(chains.parent[chain])
        if caller:
            out[caller] = max(out[caller], out[chain])
    return out


def _entered(chains: CallTree, above: int, chain: int) -> int:
    """Return the call path right below one of its ancestors, on the way to it; 0 if that is not an ancestor."""
    while chain and int(chains.parent[chain]) != above:
        chain = int(chains.parent[chain])
    return chain


# Map the frames of call paths to nodes of a call tree. p path nodes.


def frames_of(profile: IntervalProfile, chains: CallTree) -> tuple[IntArray, IntArray]:
    """Return for each path node, (p,): the call path of its frame's function, and that right below its caller's.

    The first leaves out code inlined into that function; 0 where the tree leaves the function out.
    """
    parent, function = profile.paths.parent.tolist(), profile.paths.function.tolist()
    above, chain_function, of_node = chains.parent.tolist(), chains.function.tolist(), chains.of_node.tolist()
    own, reached = np.zeros(len(parent), dtype=np.int64), np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        caller, chain = of_node[parent[node]], of_node[node]
        while chain and chain_function[chain] != function[node]:
            chain = above[chain]
        own[node] = chain
        chain = of_node[node]
        while chain and above[chain] != caller:
            chain = above[chain]
        reached[node] = chain
    return own, reached
