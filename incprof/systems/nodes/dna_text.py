"""States of nodes as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.views.tracks import badge, runs, sign, stretched
from incprof.report.text.console import console_for
from incprof.report.words.colours import style
from incprof.report.words.formatting import count, duration, joules
from incprof.systems.nodes.analyse.comparable_rates import MOST_CROWDED
from incprof.systems.nodes.analyse.energy_forecast import MATCHES, Estimate, Match
from incprof.systems.nodes.analyse.learn import MARK, letter_name, name_of
from incprof.systems.nodes.analyse.live import Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates
from incprof.systems.nodes.analyse.paper import PaperStates
from incprof.systems.nodes.analyse.paper_letters import EXECUTED, PaperLetters
from incprof.systems.nodes.analyse.spelling import Spelling

MOST_NODES, MOST_STATES = 16, 40


def write_alphabet(alphabet: Alphabet, where: str, out: TextIO, *, width: int, colour: bool) -> None:
    """Write the alphabet that was learnt."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    names = sorted({run.application for run in alphabet.runs})
    console.print(
        f"{where}: {count(len(alphabet.states), 'state')} from {count(len(alphabet.scale.names), 'counter')}, "
        f"{count(len(alphabet.runs), 'run')} of {', '.join(names) or 'nothing'}", soft_wrap=True,
    )  # fmt: skip
    console.print()
    console.print(_states(alphabet, []))
    _mark(console, simulated=alphabet.simulated)


def write_states(alphabet: Alphabet, nodes: Sequence[NodeStates], out: TextIO, *, width: int, colour: bool) -> None:
    """Write the states of nodes: a ribbon for each node, and a table."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    room = max(len(node.node) for node in nodes[:MOST_NODES])
    for node in (each for each in nodes[:MOST_NODES] if len(each.labels)):
        line = Text(node.node.ljust(room + 2))
        for label, length in runs(stretched(node.labels, max(console.width - room - 2, 10))):
            line.append(sign(label) * length, style=style(label))
        console.print(line, soft_wrap=True)
    if len(nodes) > MOST_NODES:
        console.print(f"... and {len(nodes) - MOST_NODES} more nodes")
    longest = max(node.stretches[-1].ends_s - node.stretches[0].begins_s for node in nodes)
    console.print(" " * (room + 2) + "0" + duration(longest).rjust(console.width - room - 3), soft_wrap=True)
    console.print()
    console.print(_states(alphabet, nodes))
    late = sorted({node.lag_s for node in nodes if node.lag_s})
    if late:
        console.print(f"power comes {', '.join(f'{lag:g} s' for lag in late[:4])} late: shifted back")
    _write_crowded(console, nodes)
    _mark(console, simulated=alphabet.simulated or any(node.simulated for node in nodes))


def _write_crowded(console: Console, nodes: Sequence[NodeStates]) -> None:
    """Write a warning that other work hides the activity of nodes, with the most affected node's share."""
    shares = [node.crowded for node in nodes if node.crowded is not None]
    if shares and max(shares) > MOST_CROWDED:
        console.print(
            f"threads wait for a processor in {100 * max(shares):.0f} % of the rows: beside other work, and without "
            "hardware counters, idle, computing and memory-bound time look alike; sample the job by itself: incprof "
            "sample -i 1s -e all -- COMMAND",
            soft_wrap=True,
        )


def _states(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Table:
    """Return a table with a row for each state: of the alphabet, or of the given nodes."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    letters = ("Letter",) if any(state.letter is not None for state in alphabet.states) else ()
    for name in ("State", *(("Time", "Episodes", "Share %") if nodes else ()), "Power W", "90 %", *letters):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("What it does")
    stretches = [stretch for node in nodes for stretch in node.stretches]
    total = sum(stretch.seconds for stretch in stretches) or 1.0
    for state in [*alphabet.states, None]:
        number = -1 if state is None else state.id
        own = [stretch for stretch in stretches if stretch.state == number]
        if not own and (nodes or state is None):
            continue
        seconds = sum(stretch.seconds for stretch in own)
        cells = [duration(seconds), str(len(own)), f"{100 * seconds / total:.1f}"] if nodes else []
        power = state.power if state else None
        measured = [stretch.energy_j for stretch in own if stretch.energy_j is not None]
        mean = sum(measured) / seconds if measured and seconds else power.mean_w if power else None
        cells += [f"{mean:.0f}" if mean is not None else "-"]
        cells += [f"{power.low_w:+.0f} .. {power.high_w:+.0f}" if power else "-"]
        if letters:
            cells.append("-" if state is None or state.letter is None else letter_name(state.letter))
        cells.append(name_of(alphabet, number))
        table.add_row(Text(f" {badge(number)} ", style=style(number)), *cells)
    return table


def write_paper(nodes: Sequence[PaperStates], out: TextIO) -> None:
    """Write the phases of Algorithm 1 like Figure 3 of the paper: letter and seconds."""
    for node in nodes:
        phases, times = node.phases, node.times
        period = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
        out.write(f"{node.node}: {count(len(phases), 'phase')}\n")
        for phase, letter, watts in zip(phases, node.letters, node.power_w, strict=True):
            seconds = (phase.last - phase.first) * period
            out.write(f"  ({letter_name(letter)} {seconds:g})  {'-' if watts is None else f'{watts:.1f} W'}\n")
        if node.lag_s:
            out.write(f"  power comes {node.lag_s:g} s late: shifted back\n")
    if any(node.simulated for node in nodes):
        out.write(f"{MARK}\n")


def now_line(alphabet: Alphabet, now: Now) -> str:
    """Return the state of a node after a row, in one line."""
    line = f"{now.time_s:14.1f}  {name_of(alphabet, now.state)}, for {duration(max(now.time_s - now.since_s, 0.0))}"
    if now.next:
        best = now.next[0]
        line += f"; then {name_of(alphabet, best.state)} ({100 * best.probability:.0f} %) in {duration(best.in_s)}"
        line += f" ({duration(best.low_s)} to {duration(best.high_s)})"
    return line


def write_matches(found: Sequence[Match], out: TextIO) -> None:
    """Write which applications a run resembles."""
    for match in found:
        verdict = "matches" if match.matches else f"no match (below {MATCHES:g})"
        out.write(f"{match.application}: {match.similarity:.2f}, {verdict}; ")
        out.write(f"{100 * match.done:.0f} % done, {match.pace:.2f} times as long\n")


def write_energy(found: Estimate, out: TextIO) -> None:
    """Write an estimate."""
    whole, low, high = (joules(value, 4) for value in (found.energy_j, found.low_j, found.high_j))
    out.write(f"{found.application}: {whole} in all, {low} to {high}")
    out.write(f" (90 %); {duration(found.seconds)}\n")
    out.write(f"so far {joules(found.so_far_j, 4)}, {100 * found.done:.0f} % of the time; ")
    out.write(f"by the paper's ratio {joules(found.paper_j, 4)}; similarity {found.similarity:.2f}\n")
    if found.simulated:
        out.write(f"{MARK}\n")


def write_graph(alphabet: Alphabet, found: Graph, out: TextIO) -> None:
    """Write the states of a system and their transitions."""
    for at, state in enumerate(found.states[:MOST_STATES]):
        power = f", {state.power_w:.0f} W" if state.power_w is not None else ""
        visits = count(state.visits, "episode")
        out.write(
            f"S{at}  {_name(alphabet, state.letters, idle=state.idle)}: {duration(state.seconds)} in {visits}{power}\n"
        )
        for edge in found.edges:
            if edge.source == at:
                out.write(f"      {100 * edge.probability:3.0f} % to S{edge.target}\n")
    if found.simulated:
        out.write(f"{MARK}\n")


def _name(alphabet: Alphabet, letters: Sequence[int], *, idle: bool) -> str:
    """Return the names of the states of a system's nodes; at most the first four."""
    if idle:
        return "idle"
    names = [name_of(alphabet, each) for each in letters]
    if len(set(names)) == 1:
        return names[0] + (" on all nodes" if len(names) > 1 else "")
    return " | ".join(names[:4]) + (" | ..." if len(names) > 4 else "")


def _mark(console: Console, *, simulated: bool) -> None:
    """Write that power comes from a formula, if it does."""
    if simulated:
        console.print(MARK)


# Runs in the paper's letters as text.


MOST_RUNS, MOST_LETTERS, MOST_OF_RUN = 12, 16, 60


def write_letters(found: PaperLetters, out: TextIO, *, width: int, colour: bool) -> None:
    """Write runs in letters, the alphabet, and the predictions."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    runs = [*found.runs, *found.tests]
    for run in runs[:MOST_RUNS]:
        console.print(f"{run.application} on {run.rows.node}: {_spelt(run)}", soft_wrap=True)
    if len(runs) > MOST_RUNS:
        console.print(f"... and {count(len(runs) - MOST_RUNS, 'run')} more")
    console.print()
    table = _table("Letter", "Time", "Power W", left=("Counters", "Applications"))
    for each in found.alphabet[:MOST_LETTERS]:
        table.add_row(
            letter_name(each.letter), duration(each.seconds), f"{each.power_w:.0f}", ", ".join(each.counters),
            ", ".join(each.applications),
        )  # fmt: skip
    console.print(table)
    if len(found.alphabet) > MOST_LETTERS:
        console.print(f"... and {count(len(found.alphabet) - MOST_LETTERS, 'letter')} more")
    console.print()
    _write_prediction(console, found)
    if found.simulated:
        console.print(MARK)


def _spelt(run: Spelling) -> str:
    """Return the letters of a run, limited to a few lines."""
    shown = " ".join(letter_name(letter) for letter in run.letters[:MOST_OF_RUN])
    return shown + (f" ... {len(run.letters)} in all" if len(run.letters) > MOST_OF_RUN else "")


def _write_prediction(console: Console, found: PaperLetters) -> None:
    """Write how runs were split, and the accuracy of the predicted letters and energy."""
    tests = count(len(found.tests), "test run")
    split = f"{tests} by {count(len(found.runs), 'run')}" if found.tests else "each run by the other runs of its node"
    if not found.next_letters and not found.energies:
        console.print("not predicted: that takes two runs of a node, or --test", soft_wrap=True)
        return
    console.print(f"predicted: {split}", soft_wrap=True)
    for each in found.next_letters:
        if each.letters:
            console.print(
                f"{each.node}: next letter right {100 * each.right / each.letters:.0f} % of {each.letters} "
                f"(the same again: {100 * each.same / each.letters:.0f} %); from the second letter on "
                f"{each.ahead:.1f} of {each.rest:.1f} letters right",
                soft_wrap=True,
            )
    if found.energies:
        console.print()
        table = _table("Runs", "Estimated", "Measured", "Peak", "Accuracy", "Error %", "By letters", left=("Of",))
        for row in found.energies:
            table.add_row(
                str(row.runs), joules(row.estimated_j, 4), joules(row.measured_j, 4), joules(row.peak_j, 4),
                f"{row.accuracy:.3f}", f"{100 * row.error:.1f}", joules(row.letters_j, 4),
                f"{row.application} on {row.node}",
            )  # fmt: skip
        console.print(table)
        console.print(f"estimated from the first {100 * EXECUTED:.0f} % of each run", soft_wrap=True)


def _table(*right: str, left: tuple[str, ...]) -> Table:
    """Return a table with columns of numbers, followed by columns of text."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    for name in left:
        table.add_column(name)
    return table
