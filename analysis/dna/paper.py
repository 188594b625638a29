"""The paper's own method, as it is written: Algorithm 1, its idle state, and its estimate of energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from incprof.analysis.dna.counters import TABLE1, number_of
from incprof.analysis.dna.letters import COUNTERS, encode
from incprof.analysis.dna.relevant import by_correlation, by_regression
from incprof.model import BoolArray, FloatArray

# Of sets of columns over rows: (rows, counters), (rows,) -> the columns that go with power, the foremost first.
Relevant = Callable[[FloatArray, FloatArray], tuple[int, ...]]
WAYS: dict[str, Relevant] = {"correlation": partial(by_correlation, count=COUNTERS), "regression": by_regression}


@dataclass(frozen=True)
class Phase:
    """Rows first <= row < last, and the numbers of the counters that go with power in them, the foremost first."""

    first: int
    last: int
    relevant: tuple[int, ...]

    @property
    def letter(self) -> int | None:
        """The letter of the first four columns; None, the paper's XXX, where there are fewer."""
        return encode(self.relevant[:COUNTERS]) if len(self.relevant) >= COUNTERS else None


@dataclass(frozen=True)
class PaperStates:
    """A node and its phases.

    Attributes:
        node: its name.
        phases: of its rows.
        letters: of the phases, one number for each set of counters unless they are ranked.
        times: (rows,) the end of each row, seconds since 1970.
        watts: (rows,) power, moved to the rows that it is of.
        lag_s: the meter is late by so much.
        simulated: power comes from a formula.
    """

    node: str
    phases: tuple[Phase, ...]
    letters: tuple[int | None, ...]
    times: FloatArray
    watts: FloatArray
    lag_s: float
    simulated: bool

    @property
    def power_w(self) -> tuple[float | None, ...]:
        """The mean power of each phase; None where none of its rows has one."""
        parts = [self.watts[phase.first : phase.last] for phase in self.phases]
        return tuple(float(np.nanmean(part)) if np.isfinite(part).any() else None for part in parts)


def phases(
    rates: FloatArray,
    watts: FloatArray,
    names: Sequence[str] = TABLE1,
    *,
    ranked: bool = False,
    way: str = "correlation",
    step: int | None = None,
) -> list[Phase]:
    """Algorithm 1: a phase ends where the set of counters that go with power is another one.

    An interval begins with n rows, n > p + 1 for p counters, and grows by n rows as long as its set is that of the
    interval before. Where it is not, a binary search among the last n rows finds the last one with which it still was;
    there the phase ends and the next begins. What is left at the end is of the last phase.

    Args:
        rates: (rows, p).
        watts: (rows,).
        names: of the counters, (p,), which say their numbers.
        ranked: whether the same counters in another order are another set.
        way: "correlation" or "regression".
        step: n; the least there may be unless given.
    """
    least, numbers = rates.shape[1] + 2, number_of(names)
    n = max(step or least, least)

    def of(first: int, last: int) -> tuple[int, ...]:
        found = (numbers[at] for at in WAYS[way](rates[first:last], watts[first:last]))
        return tuple(number for number in found if number is not None)

    def same(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return a == b if ranked else set(a) == set(b)

    found, start, rows = [], 0, len(rates)
    while start < rows:
        end = min(start + n, rows)
        before = of(start, end)
        while end < rows:
            grown = min(end + n, rows)
            now = of(start, grown)
            if not same(now, before):
                # With the rows up to `end` the set was the same; with those up to `grown` it is not.
                low, high = end, grown
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if same(of(start, middle), before) else (low, middle)
                end = low
                break
            end, before = grown, now
        found.append(Phase(start, end, before))
        start = end
    return found


def phases_but_idle(
    rates: FloatArray, watts: FloatArray, names: Sequence[str], idle: BoolArray, *, ranked: bool = False,
    way: str = "correlation",
) -> list[Phase]:  # fmt: skip
    """Algorithm 1 between the rows (rows,) that are idle; those are phases of their own, with the letter XXX."""
    first = [0, *(np.flatnonzero(np.diff(idle)) + 1).tolist(), len(idle)]
    found: list[Phase] = []
    for start, end in pairwise(first):
        if idle[start]:
            found.append(Phase(start, end, ()))
            continue
        for phase in phases(rates[start:end], watts[start:end], names, ranked=ranked, way=way):
            found.append(Phase(start + phase.first, start + phase.last, phase.relevant))
    return found


def relative_energy(target_j: float, reference_j: float) -> float:
    """E_rel: what the executed part took, for what it took on the reference."""
    return target_j / reference_j


def estimated_energy(target_j: float, reference_j: float, rest_j: float) -> float:
    """E_est: what was measured, and E_rel times what the rest took on the reference.

    Args:
        target_j: of the executed part on the target.
        reference_j: of the same part on the reference.
        rest_j: of the rest, on the reference.
    """
    return target_j + relative_energy(target_j, reference_j) * rest_j
