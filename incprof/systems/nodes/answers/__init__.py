"""States of nodes: an alphabet is learnt from files, saved in one, and applied to others (docs/use/dna.md)."""

from incprof.systems.nodes.analyse.node_states import Alphabet, NodeStates
from incprof.systems.nodes.analyse.paper_letters import LetterOptions
from incprof.systems.nodes.answers.nodes import (
    NodeBeside,
    Source,
    alphabet_of,
    read_alphabet,
    series_of,
    states_of,
    write_alphabet,
)
from incprof.systems.nodes.answers.runs import (
    energy_of,
    follow,
    graph_of,
    idle_threshold,
    letters_of,
    matches_of,
    paper_states,
)

__all__ = [
    "Alphabet",
    "LetterOptions",
    "NodeBeside",
    "NodeStates",
    "Source",
    "alphabet_of",
    "energy_of",
    "follow",
    "graph_of",
    "idle_threshold",
    "letters_of",
    "matches_of",
    "paper_states",
    "read_alphabet",
    "series_of",
    "states_of",
    "write_alphabet",
]
