"""The paper's letters: four counters in the order of their rank, four bits each, in one number of sixteen bits."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.dna.counters import MOST, number_of
from incprof.analysis.dna.relevant import by_correlation
from incprof.model import FloatArray

COUNTERS = 4


def encode(counters: Sequence[int]) -> int:
    """The letter of four counters, numbers from 0 to 15, the foremost first.

    Raises:
        ValueError: these are not four such numbers.
    """
    if len(counters) != COUNTERS or not all(0 <= each < MOST for each in counters):
        raise ValueError(f"{list(counters)}: expected four numbers from 0 to 15")
    letter = 0
    for each in counters:
        letter = letter << 4 | each
    return letter


def decode(letter: int) -> tuple[int, int, int, int]:
    """The four counters of a letter.

    Raises:
        ValueError: it is no number of sixteen bits.
    """
    if not 0 <= letter < 1 << 16:
        raise ValueError(f"{letter}: expected a letter from 0 to 65535")
    return letter >> 12, letter >> 8 & 15, letter >> 4 & 15, letter & 15


def as_set(letter: int) -> int:
    """The same counters in ascending order: by default, what makes letters the same."""
    return encode(sorted(decode(letter)))


def letter_of(names: Sequence[str], rates: FloatArray, watts: FloatArray, *, ranked: bool = False) -> int | None:
    """The letter of rows; None (the paper's XXX) where fewer than four counters go with power.

    Args:
        names: of the counters.
        rates: (rows, counters).
        watts: (rows,), NaN where nobody measured.
        ranked: whether the order of the four matters.
    """
    found = by_correlation(rates, watts, COUNTERS)
    numbers = number_of(names)
    code = [numbers[at] for at in found if numbers[at] is not None]
    known = [each for each in code if each is not None]
    if len(known) < COUNTERS:
        return None
    return encode(known) if ranked else encode(sorted(known))
