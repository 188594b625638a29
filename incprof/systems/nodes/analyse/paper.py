"""The paper's own method: Algorithm 1, its idle state, and its estimate of energy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import stats

from incprof.model import BoolArray, FloatArray

# The paper's letters: four counters in order of rank, four bits each, as one number of sixteen bits.


COUNTERS = 4


def encode(counters: Sequence[int]) -> int:
    """Return the letter of four counters, numbers from 0 to 15, the highest-ranked first.

    Raises:
        ValueError: the arguments are not four such numbers.
    """
    if len(counters) != COUNTERS or not all(0 <= each < MOST for each in counters):
        raise ValueError(f"{list(counters)}: expected four numbers from 0 to 15")
    letter = 0
    for each in counters:
        letter = letter << 4 | each
    return letter


def decode(letter: int) -> tuple[int, int, int, int]:
    """Return the four counters of a letter.

    Raises:
        ValueError: the letter is not a number of sixteen bits.
    """
    if not 0 <= letter < 1 << 16:
        raise ValueError(f"{letter}: expected a letter from 0 to 65535")
    return letter >> 12, letter >> 8 & 15, letter >> 4 & 15, letter & 15


def as_set(letter: int) -> int:
    """Return a letter with its counters in ascending order: by default, letters with the same counters are equal."""
    return encode(sorted(decode(letter)))


def letter_of(names: Sequence[str], rates: FloatArray, watts: FloatArray, *, ranked: bool = False) -> int | None:
    """Return the letter of rows; None (the paper's XXX) if fewer than four counters correlate with power.

    Args:
        names: Names of the counters.
        rates: (rows, counters).
        watts: (rows,), NaN where power was not measured.
        ranked: Whether the order of the four counters matters.
    """
    order = by_correlation(rates, watts, COUNTERS)
    numbers = number_of(names)
    code = [numbers[at] for at in order if numbers[at] is not None]
    numbered = [each for each in code if each is not None]
    if len(numbered) < COUNTERS:
        return None
    return encode(numbered) if ranked else encode(sorted(numbered))


# Select the counters that correlate with power over some rows: the paper's two methods.


LEVEL = 0.05


def by_correlation(rates: FloatArray, watts: FloatArray, count: int = 4) -> tuple[int, ...]:
    """Return the columns whose rates correlate most with power, the strongest first; ties by number.

    Correlation is Pearson's, without its sign. Columns that do not vary are omitted, so there may be fewer than
    `count`; none if power does not vary, or if there are fewer than three rows.
    """
    good = np.isfinite(watts)
    if good.sum() < 3:
        return ()
    x, y = _centred(rates[good]), _centred(watts[good])
    size = np.sqrt((x**2).sum(axis=0))
    total = np.sqrt((y**2).sum())
    varies = size > 1e-9 * np.sqrt(len(y))
    if total <= 1e-12 * np.sqrt(len(y)) or not varies.any():
        return ()
    strength = np.where(varies, np.abs(y @ x) / np.where(varies, size, 1) / total, -1.0)
    # Values equal up to rounding are ties.
    order = np.lexsort((np.arange(len(strength)), -np.round(strength, 12)))
    return tuple(int(at) for at in order[:count] if varies[at])


def by_regression(rates: FloatArray, watts: FloatArray, level: float = LEVEL) -> tuple[int, ...]:
    """Return the columns whose factors in a linear model of power are significant at the given level.

    The most significant comes first. Of redundant columns no factor is significant: the paper reports bad results.
    """
    good = np.isfinite(watts)
    if not good.any():
        return ()
    x = _centred(rates[good])
    varies = np.flatnonzero(np.ptp(x, axis=0) > 0)
    freedom = int(good.sum()) - len(varies) - 1
    if not len(varies) or freedom < 1:
        return ()
    x = np.column_stack([np.ones(len(x)), x[:, varies] / x[:, varies].std(axis=0)])
    y = _centred(watts[good])
    inverse = np.linalg.pinv(x.T @ x)
    factors = inverse @ x.T @ y
    wrong = float(((y - x @ factors) ** 2).sum()) / freedom
    error = np.sqrt(np.maximum(np.diag(inverse) * wrong, 1e-300))
    chance = 2 * stats.t.sf(np.abs(factors / error), freedom)[1:]
    order = np.argsort(chance, kind="stable")
    return tuple(int(varies[at]) for at in order if chance[at] < level)


def _centred(values: FloatArray) -> FloatArray:
    """Return columns about their means, in parts of their largest value: its square is neither infinite nor zero."""
    largest = np.abs(values).max(axis=0)
    parts = values.astype(np.float64) / np.where(largest > 0, largest, 1.0)
    centred: FloatArray = parts - parts.mean(axis=0)
    return centred


# Counters of Table 1 of the paper, in the order of its rows: letters number them from 0.


TABLE1 = (
    "cycles", "instructions", "cache-references", "stalled-cycles-frontend", "cache-misses", "bus-cycles", "branches",
    "branch-misses", "net-tx-bytes", "net-tx-packets", "net-rx-bytes", "net-rx-packets",
    "disk-write-bytes", "disk-read-bytes",
)  # fmt: skip
# Those of them counted by the processor; the kernel counts the others.
OF_PROCESSOR = frozenset(TABLE1[:8])
# Memory held by a program, or by all programs: levels, not rates.
HELD = ("rss-bytes", "memory-bytes")
# Counters that others contain already, in another unit or in parts: they would count twice.
TWINS = {"task-clock": {"cpu"}, "user": {"cpu", "system"}, "minor-faults": {"page-faults"}}
# A letter has four bits for each counter.
MOST = 16


def number_of(names: Sequence[str]) -> list[int | None]:
    """Return the number of each counter, from 0 to 15; None for those beyond 16.

    Counters of Table 1 have their row number. Others take 14 and 15, then the numbers of missing counters of Table 1.
    """
    taken = {name: TABLE1.index(name) for name in names if name in TABLE1}
    free = [14, 15, *(at for at in range(14) if at not in taken.values())]
    for name in names:
        if name not in taken and free:
            taken[name] = free.pop(0)
    return [taken.get(name) for name in names]


# (rows, counters), (rows,) -> the columns that correlate with power, the highest-ranked first.
Relevant = Callable[[FloatArray, FloatArray], tuple[int, ...]]
SELECTORS: dict[str, Relevant] = {"correlation": partial(by_correlation, count=COUNTERS), "regression": by_regression}


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
    select: str = "correlation",
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
        select: "correlation" or "regression".
        step: n; default: the least possible.
    """
    least, numbers = rates.shape[1] + 2, number_of(names)
    n = max(step or least, least)

    def of(first: int, last: int) -> tuple[int, ...]:
        phases_found = (numbers[at] for at in SELECTORS[select](rates[first:last], watts[first:last]))
        return tuple(number for number in phases_found if number is not None)

    def same(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return a == b if ranked else set(a) == set(b)

    phases_found, start, rows = [], 0, len(rates)
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
        phases_found.append(Phase(start, end, before))
        start = end
    return phases_found


def phases_but_idle(
    rates: FloatArray, watts: FloatArray, names: Sequence[str], idle: BoolArray, *, ranked: bool = False,
    select: str = "correlation",
) -> list[Phase]:  # fmt: skip
    """Run Algorithm 1 between the idle rows (rows,), which are phases of their own with the letter XXX."""
    first = [0, *(np.flatnonzero(np.diff(idle)) + 1).tolist(), len(idle)]
    out: list[Phase] = []
    for start, end in pairwise(first):
        if idle[start]:
            out.append(Phase(start, end, ()))
            continue
        for phase in phases(rates[start:end], watts[start:end], names, ranked=ranked, select=select):
            out.append(Phase(start + phase.first, start + phase.last, phase.relevant))
    return out


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


# The paper's transition matrix of letters, and its predictor: the most probable next letter (section 4.2).


# A letter of the paper; None is its XXX.
Letter = int | None
# Number of occurrences of each letter after each: {letter: {next letter: count}}.
Transitions = Mapping[Letter, Mapping[Letter, int]]


def transitions(sequences: Iterable[Sequence[Letter]]) -> Transitions:
    """Count how often each letter follows each, in sequences of letters in order of time."""
    counts: dict[Letter, dict[Letter, int]] = {}
    for sequence in sequences:
        for a, b in pairwise(sequence):
            row = counts.setdefault(a, {})
            row[b] = row.get(b, 0) + 1
    return counts


def probability(row: Mapping[Letter, int], letter: Letter) -> float:
    """Return the probability of a letter in a row of the matrix."""
    return row.get(letter, 0) / sum(row.values())


def most_probable(row: Mapping[Letter, int]) -> Letter:
    """Return the most probable letter of a row; of equally probable ones XXX, else the least number."""
    return max(row, key=lambda each: (row[each], each is None, -(each or 0)))


def predicted(matrix: Transitions, letter: Letter, count: int) -> list[Letter]:
    """Return the predicted letters, each the most probable one after the previous.

    The sequence ends after `count` letters, or after a letter without a successor.
    """
    out: list[Letter] = []
    while len(out) < count and letter in matrix:
        letter = most_probable(matrix[letter])
        out.append(letter)
    return out
