"""Names for states of nodes."""

from __future__ import annotations

from incprof.systems.nodes.analyse.live import ENDED
from incprof.systems.nodes.analyse.node_states import Alphabet

UNKNOWN_NAME, END_NAME = "unknown", "end"
MARK = "power is simulated"


def name_of(alphabet: Alphabet, state: int) -> str:
    """Return the name of a state, of the unknown state, or of a run's end."""
    if state == ENDED:
        return END_NAME
    return UNKNOWN_NAME if state < 0 else alphabet.states[state].name


def letter_name(letter: int | None) -> str:
    """Return the name of a letter of the paper; XXX for None."""
    return "XXX" if letter is None else str(letter)
