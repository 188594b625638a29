"""States of nodes: an alphabet is learnt from files, kept in one, and used on others (docs/dna.md)."""

from incprof.analysis.dna.paper_letters import LetterOptions
from incprof.analysis.dna.results import Alphabet, NodeStates
from incprof.study.dna.alphabet import read_alphabet, write_alphabet
from incprof.study.dna.beside import NodeBeside
from incprof.study.dna.following import follow
from incprof.study.dna.letters import letters_of
from incprof.study.dna.nodes import Source, alphabet_of, series_of, states_of
from incprof.study.dna.runs import energy_of, graph_of, idle_threshold, matches_of, paper_states

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
