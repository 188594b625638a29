"""States of nodes: an alphabet is learnt from files, saved in one, and applied to others (docs/use/dna.md)."""

from incprof.systems.nodes.analyse.node_states import Alphabet, NodeStates
from incprof.systems.nodes.analyse.paper_letters import LetterOptions
from incprof.systems.nodes.answers.alphabet import read_alphabet, write_alphabet
from incprof.systems.nodes.answers.following import follow
from incprof.systems.nodes.answers.letters import letters_of
from incprof.systems.nodes.answers.node_of_run import NodeBeside
from incprof.systems.nodes.answers.nodes import Source, alphabet_of, series_of, states_of
from incprof.systems.nodes.answers.runs import energy_of, graph_of, idle_threshold, matches_of, paper_states

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
