"""A system's states as a graph for Graphviz."""

from __future__ import annotations

from typing import TextIO

from incprof.systems.nodes.analyse.graph import Graph
from incprof.systems.nodes.analyse.node_states import Alphabet
from incprof.systems.nodes.state_names import MARK, name_of


def write_dot(alphabet: Alphabet, found: Graph, out: TextIO) -> None:
    """Write the graph; the idle state, where it begins and ends, has a double border."""
    out.write("digraph system {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n")
    if found.simulated:
        out.write(f'  label="{MARK}";\n')
    for at, state in enumerate(found.states):
        words = "idle" if state.idle else " | ".join(name_of(alphabet, each) for each in state.letters[:8])
        power = f"\\n{state.power_w:.0f} W" if state.power_w is not None else ""
        shape = ", shape=doublecircle" if state.idle else ""
        label = words.replace("\\", "\\\\").replace('"', '\\"')
        out.write(f'  s{at} [label="{label}\\n{state.seconds:.0f} s{power}"{shape}];\n')
    for edge in found.edges:
        out.write(f'  s{edge.source} -> s{edge.target} [label="{edge.probability:.2f}"];\n')
    out.write("}\n")
