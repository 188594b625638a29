"""What each interval of a running job is made of, under function numbers that stay while the job goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.phases.features import shares
from incprof.analysis.phases.on_stack import inclusive_shares
from incprof.analysis.views.self_time import innermost_s
from incprof.model import FloatArray, Function, IntArray, IntervalProfile


class FunctionNumbers:
    """Numbers functions from 0 in the order in which they are first seen, in whichever process."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self._known: dict[tuple[str, str, int], int] = {}

    def of(self, functions: Sequence[Function]) -> IntArray:
        """Return the number of each function, shape (f,); new ones get the next."""
        found = []
        for function in functions:
            key = (function.module, function.mangled, function.address)
            if key not in self._known:
                self._known[key] = len(self.functions)
                self.functions.append(function)
            found.append(self._known[key])
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class Mix:
    """One interval. end_s: since the start of the process. ticks: samples' weight behind it. self_s: their seconds.

    columns, shares: (m,) 2 i for the part of the interval in function i and below it, 2 i + 1 for that in its own code.
    """

    start_s: float
    end_s: float
    ticks: float
    self_s: float
    columns: IntArray
    shares: FloatArray

    def own(self) -> tuple[IntArray, FloatArray]:
        """Return functions, and seconds in their own code, both (o,)."""
        mine = self.columns % 2 == 1
        return self.columns[mine] // 2, self.shares[mine] * self.self_s

    def inclusive(self, function: int) -> float:
        """Return the part of the interval in a function and below it."""
        return float(self.shares[self.columns == 2 * function].sum())


def mixes(profile: IntervalProfile, numbers: FunctionNumbers, *, libraries: bool) -> list[Mix]:
    """Return the mix of each interval of a profile, (n,). libraries: time in a library is its caller's."""
    number = numbers.of(profile.functions)
    self_s = innermost_s(profile, libraries=libraries)
    own = shares(self_s)
    below = inclusive_shares(profile)
    seconds = np.add.reduceat(np.append(self_s.data, 0.0), self_s.indptr[:-1]) * (np.diff(self_s.indptr) > 0)
    out = []
    for i in range(profile.n_intervals):
        mine = slice(own.indptr[i], own.indptr[i + 1])
        under = slice(below.indptr[i], below.indptr[i + 1])
        # Without call paths, code that is running is all that is known of the stack.
        stack, part = (below, under) if under.stop > under.start else (own, mine)
        columns = np.concatenate([2 * number[stack.indices[part]], 2 * number[own.indices[mine]] + 1])
        parts = np.concatenate([stack.data[part], own.data[mine]])
        ticks = float(seconds[i]) * profile.metadata.rate_hz
        out.append(Mix(float(profile.start_s[i]), float(profile.end_s[i]), ticks, float(seconds[i]), columns, parts))
    return out


@dataclass(frozen=True)
class MadeOf:
    """Mixes under numbers of their own: places in `functions`."""

    rows: Sequence[Mix]
    functions: Sequence[Function]


def made_of(profile: IntervalProfile, *, libraries: bool) -> MadeOf:
    """Return what the intervals of a profile are made of; may run beside everything else."""
    numbers = FunctionNumbers()
    return MadeOf(mixes(profile, numbers, libraries=libraries), numbers.functions)


def renumbered(rows: Sequence[Mix], number: IntArray) -> list[Mix]:
    """Return mixes in which each function has another number. number: (f,), by the one that it had."""
    return [replace(row, columns=2 * number[row.columns // 2] + row.columns % 2) for row in rows]
