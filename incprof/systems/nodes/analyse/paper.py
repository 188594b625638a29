"""The paper's own method: Algorithm 1, its idle state, and its estimate of energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from incprof.model import BoolArray, FloatArray
from incprof.systems.nodes.analyse.letters import COUNTERS, encode
from incprof.systems.nodes.analyse.paper_counters import TABLE1, number_of
from incprof.systems.nodes.analyse.relevant import by_correlation, by_regression

# (rows, counters), (rows,) -> the columns that correlate with power, the highest-ranked first.
Relevant = Callable[[FloatArray, FloatArray], tuple[int, ...]]
WAYS: dict[str, Relevant] = {"correlation": partial(by_correlation, count=COUNTERS), "regression": by_regression}


@dataclass(frozen=True)
class Phase:
    """A phase of Algorithm 1.

    Attributes:
        first: Its first row.
        last: The row after its last.
        relevant: Numbers of the counters that correlate with power in it, by rank.
    """

    first: int
    last: int
    relevant: tuple[int, ...]

    @property
    def letter(self) -> int | None:
        """Letter of the first four columns; None, the paper's XXX, if there are fewer."""
        return encode(self.relevant[:COUNTERS]) if len(self.relevant) >= COUNTERS else None


@dataclass(frozen=True)
class PaperStates:
    """A node and its phases.

    Attributes:
        node: Name of the node.
        phases: Phases of its rows.
        letters: Letters of the phases; one number for each set of counters, unless they are ranked.
        times: (rows,) end of each row, seconds since 1970.
        watts: (rows,) power, shifted by the lag.
        lag_s: Delay of the meter, in seconds.
        simulated: Whether power comes from a formula.
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
        """Mean power of each phase; None if none of its rows has one."""
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
    """Run Algorithm 1: a phase ends where the set of counters that correlate with power changes.

    An interval begins with n rows, n > p + 1 for p counters, and grows by n rows while its set is that of the interval
    before. When the set changes, a binary search among the last n rows finds the last row with the old set; there the
    phase ends and the next begins. The remaining rows at the end belong to the last phase.

    Args:
        rates: (rows, p).
        watts: (rows,).
        names: (p,) names of the counters, which determine their numbers.
        ranked: Whether the order of the counters matters.
        way: "correlation" or "regression".
        step: n; default: the least possible.
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
                # The set is unchanged with the rows up to `end`, and changed with those up to `grown`.
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
    """Run Algorithm 1 between the idle rows (rows,), which are phases of their own with the letter XXX."""
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
    """Return E_rel: energy of the executed part, relative to that part on the reference."""
    return target_j / reference_j


def estimated_energy(target_j: float, reference_j: float, rest_j: float) -> float:
    """Return E_est: the measured energy, plus E_rel times the energy of the rest on the reference.

    Args:
        target_j: Joules of the executed part on the target.
        reference_j: Joules of the same part on the reference.
        rest_j: Joules of the rest on the reference.
    """
    return target_j + relative_energy(target_j, reference_j) * rest_j
