"""Loops in a sequence of events, including nested ones: each repeat is replaced by one item, and the search repeated.

A loop is identified by the content of an iteration, not by the number of iterations. So an outer loop is found even if
an inner one iterates until it has converged, and if a step occurs only now and then. n events; items are events, or
loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from incprof.model import BoolArray, IntArray, positions
from incprof.systems.mpi.trace_types import Grammar

# Longest iteration searched for, in items.
LONGEST = 1024


@dataclass
class Loop:
    """A loop.

    Attributes:
        content: Items of one iteration, as in its first episode; see `Loops`.
        starts: (iterations,) first event of each iteration.
        ends: (iterations,) event after the last one of each iteration.
        episode: (iterations,) number of the episode, a contiguous run of iterations.
    """

    content: tuple[int, ...]
    starts: IntArray
    ends: IntArray
    episode: IntArray

    @property
    def iterations(self) -> int:
        """Number of iterations in all episodes."""
        return len(self.starts)


@dataclass(frozen=True)
class Loops:
    """The loops of a sequence.

    Attributes:
        loops: The loops; loop number i is the item `kinds` + i.
        kinds: Number of event kinds, which are numbered from 0.
        steps: As in `Grammar`.
    """

    loops: tuple[Loop, ...]
    kinds: int
    steps: tuple[tuple[int, ...], ...]

    @property
    def grammar(self) -> Grammar:
        """Grammar of the loops."""
        return Grammar(self.kinds, tuple(loop.content for loop in self.loops), self.steps)

    def inside(self, loop: Loop) -> tuple[int, ...]:
        """Return the numbers of the loops in an iteration of a loop, each once."""
        return tuple(sorted({item - self.kinds for item in loop.content if item >= self.kinds}))

    def all_inside(self, loop: Loop) -> list[Loop]:
        """Return the loops inside a loop, at all levels."""
        numbers, pending = set[int](), [*self.inside(loop)]
        while pending:
            number = pending.pop()
            if number not in numbers:
                numbers.add(number)
                pending += self.inside(self.loops[number])
        return [self.loops[number] for number in sorted(numbers)]


@dataclass
class _Items:
    """A sequence of items, and the event that each begins with, (m,); first[m] is the number of events."""

    items: IntArray
    first: IntArray


@dataclass
class _Episodes:
    """Iterations of a loop, in the order of detection."""

    content: tuple[int, ...]
    starts: list[IntArray] = field(default_factory=list)
    ends: list[IntArray] = field(default_factory=list)
    begins: list[BoolArray] = field(default_factory=list)


class LoopFinder:
    """Finds the loops in one sequence."""

    def __init__(self, events: IntArray) -> None:
        """Initialise. events: (n,) kinds from 0."""
        self._now = _Items(events.astype(np.int64), np.arange(len(events) + 1, dtype=np.int64))
        self._kinds = int(events.max(initial=-1)) + 1
        self._loops: dict[tuple[int, ...], int] = {}
        self._episodes: list[_Episodes] = []
        self._steps: list[tuple[int, ...]] = []

    def find(self) -> Loops:
        """Find all loops, shortest first: an outer loop appears once those inside it have become one item each."""
        period, hashes = 1, Hashes(self._now.items)
        while period <= min(LONGEST, len(self._now.items) // 2):
            repeats = repeats_of(self._now.items, hashes, period)
            if repeats:
                number = self._numbers_of(repeats)
                self._steps.append(tuple(dict.fromkeys(number.tolist())))
                self._replace(repeats, number, self._steps[-1])
                period, hashes = 0, Hashes(self._now.items)
            period += 1
        return self._loops_so_far()

    def follow(self, grammar: Grammar) -> Loops:
        """Find the loops of another sequence in this one, in the same steps as there.

        An independent search of a beginning finds other loops, because what repeats only later is not a loop yet. Kinds
        of events that the other sequence does not have are in no loop.
        """
        in_grammar = self._now.items < grammar.kinds
        self._now.items = np.where(in_grammar, self._now.items, self._now.items + len(grammar.contents))
        self._kinds = grammar.kinds
        for content in grammar.contents:
            self._number(content)
        for step in grammar.steps:
            period = len(grammar.contents[step[0]])
            repeats = repeats_of(self._now.items, Hashes(self._now.items), period)
            number = self._numbers_of(repeats)
            of_step = np.isin(number, step)
            self._replace(Repeats(period, repeats.first[of_step], repeats.count[of_step]), number[of_step], step)
        self._steps = [*grammar.steps]
        return self._loops_so_far(len(grammar.contents))

    def _loops_so_far(self, count: int | None = None) -> Loops:
        return Loops(tuple(_loop(episodes) for episodes in self._episodes[:count]), self._kinds, tuple(self._steps))

    def _numbers_of(self, repeats: Repeats) -> IntArray:
        """Return the loop number of each repeat, (m,)."""
        if not len(repeats):
            return repeats.first
        contents = self._now.items[repeats.first[:, None] + np.arange(repeats.period)]
        distinct, which = np.unique(contents, axis=0, return_inverse=True)
        numbers = [self._number(tuple(content)) for content in distinct.tolist()]
        return np.array(numbers, dtype=np.int64)[which.ravel()]

    def _replace(self, repeats: Repeats, number: IntArray, step: tuple[int, ...]) -> None:
        """Replace each repeat by its loop, (m,), and likewise single occurrences of its content.

        step: the loops introduced in this way.
        """
        for one in step:
            of_loop = number == one
            self._add(one, repeats.period, repeats.first[of_loop], repeats.count[of_loop])
        self._shorten(repeats.first, repeats.end, number)
        for one in step:
            self._replace_single(one)

    def _replace_single(self, number: int) -> None:
        """Replace single iterations of a loop by the loop."""
        content = np.array(self._episodes[number].content, dtype=np.int64)
        first = _without_overlap(_occurrences(self._now.items, content), len(content))
        if len(first):
            self._add(number, len(content), first, np.ones(len(first), dtype=np.int64))
            self._shorten(first, first + len(content), np.full(len(first), number))

    def _number(self, content: tuple[int, ...]) -> int:
        """Return the number of a loop, independent of where its iterations begin."""
        key = least_rotation(content)
        if key not in self._loops:
            self._loops[key] = len(self._episodes)
            self._episodes.append(_Episodes(content))
        return self._loops[key]

    def _add(self, number: int, period: int, first: IntArray, count: IntArray) -> None:
        """Add episodes, (m,): their first items, and their numbers of iterations."""
        episodes = self._episodes[number]
        iteration = positions(count)
        item = np.repeat(first, count) + period * iteration
        episodes.starts.append(self._now.first[item])
        episodes.ends.append(self._now.first[item + period])
        episodes.begins.append(iteration == 0)

    def _shorten(self, first: IntArray, end: IntArray, number: IntArray) -> None:
        """Replace each of some runs of items by a loop, (m,). end: the item after each run."""
        depth = np.zeros(len(self._now.items) + 1, dtype=np.int64)
        depth[first] += 1
        depth[end] -= 1
        keep = np.cumsum(depth) == 0
        keep[first] = True
        items = self._now.items.copy()
        items[first] = self._kinds + number
        self._now = _Items(items[keep[:-1]], self._now.first[keep])


def _loop(episodes: _Episodes) -> Loop:
    """Return a loop with its iterations in order."""
    none = np.zeros(0, dtype=np.int64)
    starts, ends = np.concatenate([none, *episodes.starts]), np.concatenate([none, *episodes.ends])
    begins = np.concatenate([none, *episodes.begins])
    order = np.argsort(starts, kind="stable")
    return Loop(episodes.content, starts[order], ends[order], np.cumsum(begins[order]) - 1)


def least_rotation(content: tuple[int, ...]) -> tuple[int, ...]:
    """Return the least rotation of a sequence: Booth's algorithm (IPL 10, 1980)."""
    twice = content + content
    failure, least = [-1] * len(twice), 0
    for j in range(1, len(twice)):
        i = failure[j - least - 1]
        while i != -1 and twice[j] != twice[least + i + 1]:
            if twice[j] < twice[least + i + 1]:
                least = j - i - 1
            i = failure[i]
        if i == -1 and twice[j] != twice[least]:
            if twice[j] < twice[least]:
                least = j
            failure[j - least] = -1
        else:
            failure[j - least] = i + 1
    return twice[least : least + len(content)]


def _occurrences(items: IntArray, content: IntArray) -> IntArray:
    """Return the positions of a sequence in another."""
    starts = np.flatnonzero(items[: max(len(items) - len(content) + 1, 0)] == content[0])
    for offset in range(1, len(content)):
        if not len(starts):
            break
        starts = starts[items[starts + offset] == content[offset]]
    return starts


def _without_overlap(starts: IntArray, length: int) -> IntArray:
    """Return the starts of occurrences that do not overlap an earlier one."""
    if not (np.diff(starts) < length).any():
        return starts
    kept, free = [], 0
    for start in starts.tolist():
        if start >= free:
            kept.append(start)
            free = start + length
    return np.array(kept, dtype=np.int64)


# Tandem repeats of a sequence: runs in which the same items repeat immediately, shortest period first.
#
# A repeat of period p has at least two periods. The search does not compare every lag of every item: of any p
# consecutive items exactly one lies at a multiple of p, so only those are compared, by the hash of half a period
# around each.


# Multiplier of the hashes of runs of items, modulo 2 ** 64. Equal hashes are verified item by item.
BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Repeats:
    """Runs of items that repeat, in order, without overlap.

    Attributes:
        period: Length of a repetition, in items.
        first: (m,) first item of each run.
        count: (m,) number of repetitions.
    """

    period: int
    first: IntArray
    count: IntArray

    @property
    def end(self) -> IntArray:
        """The item after each run, (m,)."""
        return self.first + self.period * self.count

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.first)


class Hashes:
    """Hashes of all runs of items in a sequence, (n,) of items from 0."""

    def __init__(self, items: IntArray) -> None:
        n = len(items)
        power = np.ones(n + 1, dtype=np.uint64)
        power[1:] = BASE
        np.multiply.accumulate(power, out=power)
        # sum of (item + 1) * BASE ** index: shifted to a common power before they are compared.
        self._sums = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum((items.astype(np.uint64) + np.uint64(1)) * power[:n], out=self._sums[1:])
        self._power = power

    def same(self, one: IntArray, lag: int, length: int) -> BoolArray:
        """Return where the items at `one`, (m,), equal those `lag` items later, by hash."""
        hash_before = self._sums[one + length] - self._sums[one]
        hash_after = self._sums[one + lag + length] - self._sums[one + lag]
        same: BoolArray = hash_before * self._power[lag] == hash_after
        return same


def repeats_of(items: IntArray, hashes: Hashes, period: int) -> Repeats:
    """Return the runs in a sequence, (n,), that repeat with a period."""
    none = np.zeros(0, dtype=np.int64)
    if len(items) < 2 * period or not _may_repeat(len(items), hashes, period):
        return Repeats(period, none, none)
    equal = items[:-period] == items[period:]
    edge = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    first, length = edge[::2], edge[1::2] - edge[::2]
    long = length >= period
    return _disjoint(period, first[long], (first + length + period)[long])


def _disjoint(period: int, first: IntArray, end: IntArray) -> Repeats:
    """Return whole periods without overlap between consecutive runs; runs of less than two periods are dropped."""
    count = (end - first) // period
    if ((first + count * period)[:-1] > first[1:]).any():
        free, begins = 0, []
        for start, stop in zip(first.tolist(), end.tolist(), strict=True):
            begins.append(max(start, free))
            if (periods := (stop - begins[-1]) // period) >= 2:
                free = begins[-1] + periods * period
        first = np.array(begins, dtype=np.int64)
        count = (end - first) // period
    return Repeats(period, first[count >= 2], count[count >= 2])


def _may_repeat(n: int, hashes: Hashes, period: int) -> bool:
    """Return whether there may be `period` consecutive items that equal those a period later."""
    anchor = np.arange(0, n - period, period)
    half = (period + 1) // 2
    # The anchor lies in the first half of those items, or in the second: the half after it, or before it, is equal.
    after = anchor[anchor + half + period <= n]
    before = anchor[anchor >= half - 1] - (half - 1)
    return bool(hashes.same(after, period, half).any() or hashes.same(before, period, half).any())
