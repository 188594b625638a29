"""States of nodes as pictures: ribbons over power, the graph of a system's states, and the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, TextIO

import numpy as np

from incprof.errors import NoDataError
from incprof.report.plots import COLOURS, WIDTH_IN, save, time_unit
from incprof.systems.nodes.analyse.learn import MARK, name_of
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates
from incprof.systems.nodes.analyse.paper_letters import PaperLetters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_NODES, ROW_IN, MOST_STATES = 12, 1.3, 14
GREY, FAINT = "#bbbbbb", 0.45


def write_ribbons(alphabet: Alphabet, nodes: Sequence[NodeStates], out: BinaryIO, form: str) -> None:
    """Write a picture of nodes' states over their power. form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: ribbons(alphabet, nodes), out, form)


def ribbons(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = nodes[:MOST_NODES]
    picture = Figure(figsize=(WIDTH_IN, 0.9 + ROW_IN * len(shown)), layout="constrained")
    panels = picture.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    start = min(node.segments[0].begins_s for node in shown)
    divisor, unit = time_unit(max(node.segments[-1].ends_s for node in shown) - start)
    for panel, node in zip(panels, shown, strict=True):
        _ribbon(panel, alphabet, node, start, divisor)
    panels[-1].set_xlabel(f"Time since start ({unit})")
    used = sorted({segment.state for node in shown for segment in node.segments})
    marks = [Patch(color=_colour(each, alphabet), alpha=FAINT, label=_label(alphabet, each)) for each in used]
    picture.legend(handles=marks, loc="outside lower left", ncols=3, fontsize=7, frameon=False)
    more = f", {len(nodes) - len(shown)} more nodes not shown" if len(nodes) > len(shown) else ""
    simulated = f", {MARK}" if any(node.simulated for node in nodes) else ""
    picture.suptitle(f"{len(used)} states{more}{simulated}", fontsize=9)
    return picture


def _ribbon(axes: Axes, alphabet: Alphabet, node: NodeStates, start: float, divisor: float) -> None:
    """Draw the states of a node as a band, and its power as a line over it."""
    for segment in node.segments:
        low, high = (segment.begins_s - start) / divisor, (segment.ends_s - start) / divisor
        axes.axvspan(low, high, color=_colour(segment.state, alphabet), alpha=FAINT, linewidth=0)
    if node.watts is not None:
        axes.plot((node.times - start) / divisor, node.watts, color="black", linewidth=0.6)
        axes.set_ylabel("W")
    else:
        axes.set_yticks([])
    axes.set_title(node.node.replace("$", r"\$"), fontsize=8, loc="left")


def write_graph(alphabet: Alphabet, states_graph: Graph, out: BinaryIO, form: str) -> None:
    """Write a picture of a system's states; their size is proportional to the time in them."""
    save(lambda: graph(alphabet, states_graph), out, form)


def graph(alphabet: Alphabet, states_graph: Graph) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    shown = list(range(min(len(states_graph.states), MOST_STATES)))
    angle = 2 * np.pi * np.arange(len(shown)) / max(len(shown), 1)
    where = np.column_stack([np.cos(angle), np.sin(angle)])
    picture = Figure(figsize=(WIDTH_IN, 0.8 * WIDTH_IN), layout="constrained")
    axes = picture.subplots()
    for edge in states_graph.edges:
        if edge.source in shown and edge.target in shown:
            axes.annotate(
                "", where[edge.target], where[edge.source],
                arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=0.15", "lw": 0.4 + 2 * edge.probability,
                            "color": "#555555", "shrinkA": 12, "shrinkB": 12},
            )  # fmt: skip
    total = sum(state.seconds for state in states_graph.states)
    for at in shown:
        state = states_graph.states[at]
        colour = _colour(-1 if state.idle else max(state.letters), alphabet)
        axes.scatter(*where[at], s=120 + 1800 * state.seconds / total, color=colour, edgecolor="black", zorder=3)
        words = "idle" if state.idle else " | ".join(name_of(alphabet, each) for each in state.letters[:3])
        power = f"\n{state.power_w:.0f} W" if state.power_w is not None else ""
        x, y = where[at]
        axes.text(
            x, y + (0.2 if y >= 0 else -0.2), f"S{at} {words}{power}", ha="center", va="center", fontsize=6
        ).set_parse_math(False)
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.4, 1.4)
    axes.axis("off")
    more = f", {len(states_graph.states) - len(shown)} more not shown" if len(states_graph.states) > len(shown) else ""
    picture.suptitle(
        f"{len(states_graph.states)} states{more}{', ' + MARK if states_graph.simulated else ''}", fontsize=9
    )
    return picture


def _label(alphabet: Alphabet, state: int) -> str:
    """Return the number and the name of a state."""
    return f"{state} {name_of(alphabet, state)}" if state >= 0 else name_of(alphabet, state)


def _colour(state: int, alphabet: Alphabet) -> str:
    """Return the colour of a state; grey for idle or unknown."""
    return GREY if state in alphabet.idle else COLOURS[state % len(COLOURS)]


# Cache misses per cycle of each application, over the time of its runs: Figure 2 of the paper.


MARKS = "osD^vPX*"


def write_misses(paper_letters: PaperLetters, out: BinaryIO, form: str) -> None:
    """Write the picture. form: `svg`, `png` or `pdf`.

    Raises:
        NoDataError: cache misses or cycles were not counted.
        ModuleNotFoundError: matplotlib is not installed.
    """
    if not any(run.rows.misses is not None for run in (*paper_letters.runs, *paper_letters.tests)):
        raise NoDataError("no cache-misses and cycles in these files: there is nothing to draw; leave --plot out")
    save(lambda: misses(paper_letters), out, form)


def misses(paper_letters: PaperLetters) -> Figure:
    """Return the picture, not yet drawn: a point for each row that is not idle, a colour for each application."""
    from matplotlib.figure import Figure

    runs = [run for run in (*paper_letters.runs, *paper_letters.tests) if run.rows.misses is not None]
    picture = Figure(figsize=(WIDTH_IN, 0.6 * WIDTH_IN), layout="constrained")
    axes = picture.subplots()
    divisor, unit = time_unit(max(run.rows.seconds for run in runs))
    for at, application in enumerate(sorted({run.application for run in runs})):
        own = [run.rows for run in runs if run.application == application]
        since = np.concatenate([(rows.ends_s - rows.begins_s)[~rows.idle] for rows in own]) / divisor
        values = np.concatenate([rows.misses[~rows.idle] for rows in own if rows.misses is not None])
        axes.scatter(
            since, values, s=6, marker=MARKS[at // len(COLOURS) % len(MARKS)], color=COLOURS[at % len(COLOURS)],
            linewidth=0, alpha=0.6, label=application.replace("$", r"\$"),
        )  # fmt: skip
    if paper_letters.options.beta is not None:
        axes.axhline(paper_letters.options.beta, color="#555555", linewidth=0.8, linestyle="--", label="idle below")
    axes.set_yscale("log", nonpositive="mask")
    axes.set_xlabel(f"Time since start of run ({unit})")
    axes.set_ylabel("Cache misses per cycle")
    picture.legend(loc="outside lower left", ncols=4, fontsize=7, frameon=False)
    simulated = f", {MARK}" if paper_letters.simulated else ""
    picture.suptitle(f"{len(runs)} runs, cache misses per cycle{simulated}", fontsize=9)
    return picture


# A system's states as a graph for Graphviz.


def write_dot(alphabet: Alphabet, states_graph: Graph, out: TextIO) -> None:
    """Write the graph; the idle state, where it begins and ends, has a double border."""
    out.write("digraph system {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n")
    if states_graph.simulated:
        out.write(f'  label="{MARK}";\n')
    for at, state in enumerate(states_graph.states):
        words = "idle" if state.idle else " | ".join(name_of(alphabet, each) for each in state.letters[:8])
        power = f"\\n{state.power_w:.0f} W" if state.power_w is not None else ""
        shape = ", shape=doublecircle" if state.idle else ""
        label = words.replace("\\", "\\\\").replace('"', '\\"')
        out.write(f'  s{at} [label="{label}\\n{state.seconds:.0f} s{power}"{shape}];\n')
    for edge in states_graph.edges:
        out.write(f'  s{edge.source} -> s{edge.target} [label="{edge.probability:.2f}"];\n')
    out.write("}\n")
