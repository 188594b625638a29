"""The paper's letters: four counters in order of rank, four bits each, as one number of sixteen bits."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.model import FloatArray
from incprof.systems.nodes.analyse.paper_counters import MOST, number_of
from incprof.systems.nodes.analyse.relevant import by_correlation

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
    found = by_correlation(rates, watts, COUNTERS)
    numbers = number_of(names)
    code = [numbers[at] for at in found if numbers[at] is not None]
    known = [each for each in code if each is not None]
    if len(known) < COUNTERS:
        return None
    return encode(known) if ranked else encode(sorted(known))
