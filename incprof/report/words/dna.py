"""Words for states of nodes."""

from __future__ import annotations

from incprof.analysis.dna.place import ENDED
from incprof.analysis.dna.results import Alphabet

UNKNOWN_NAME, END_NAME = "unknown", "end"
MARK = "power is simulated"


def name_of(alphabet: Alphabet, state: int) -> str:
    """The name of a state, of none that is known, or of a run's end."""
    if state == ENDED:
        return END_NAME
    return UNKNOWN_NAME if state < 0 else alphabet.states[state].name


def letter_name(letter: int | None) -> str:
    """A letter of the paper; XXX where there is none."""
    return "XXX" if letter is None else str(letter)
