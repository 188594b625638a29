"""Answers of `incprof dna` as text and as JSON, schema incprof.dna/1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from incprof.analysis.views.tracks import runs, sign, stretched
from incprof.model.section import Column, Table
from incprof.report.render.json import fields, significant
from incprof.report.render.text import console_for, text_table
from incprof.report.words.colours import style
from incprof.report.words.formatting import count, duration, joules
from incprof.systems.nodes.analyse.comparable_rates import MOST_CROWDED
from incprof.systems.nodes.analyse.energy_forecast import MATCHES, Estimate, Match
from incprof.systems.nodes.analyse.learn import MARK, letter_name, name_of
from incprof.systems.nodes.analyse.live import ENDED, Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates, State

SCHEMA = "incprof.dna/1"
_fields, _six = partial(fields, number=significant), partial(significant, digits=6)
MOST_NODES, MOST_STATES = 16, 40

Json = dict[str, object]


@dataclass(frozen=True)
class StateRow:
    """A state of an alphabet, and the time that nodes spent in it.

    Attributes:
        id: Number of the state; -1 for rows that are in none of them.
        state: The state; None for -1.
        seconds: Time of the nodes in it.
        episodes: Number of times that a node entered it.
        share: Share of the nodes' time.
        power_w: Mean measured power; that of the model where power was not measured throughout; None without either.
    """

    id: int
    state: State | None
    seconds: float
    episodes: int
    share: float
    power_w: float | None


def _state_rows(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> list[StateRow]:
    """Return a row for each state, the unknown one last."""
    segments = [segment for node in nodes for segment in node.segments]
    total = sum(segment.seconds for segment in segments) or 1.0
    rows = []
    for state in (*alphabet.states, None):
        number = -1 if state is None else state.id
        own = [segment for segment in segments if segment.state == number]
        seconds = sum((segment.seconds for segment in own), 0.0)
        measured = [segment.energy_j for segment in own if segment.energy_j is not None]
        power = state.power.mean_w if state is not None and state.power is not None else None
        if seconds and len(measured) == len(own):
            power = sum(measured) / seconds
        rows.append(StateRow(number, state, seconds, len(own), seconds / total, power))
    return rows


def _states_table(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Table:
    """Return a table of the states of the alphabet, or of those that occur in the given nodes."""

    def range_w(row: StateRow) -> str | None:
        power = None if row.state is None else row.state.power
        return None if power is None else f"{power.low_w:+.0f} .. {power.high_w:+.0f}"

    def letter(row: StateRow) -> str | None:
        return None if row.state is None or row.state.letter is None else letter_name(row.state.letter)

    columns = (
        Column("State", lambda row: row.id, "phase"),
        Column("Time", lambda row: row.seconds, "duration"),
        Column("Episodes", lambda row: row.episodes, "count"),
        Column("Share %", lambda row: row.share, "percent"),
        Column("Power W", lambda row: None if row.power_w is None else f"{row.power_w:.0f}", "W"),
        Column("90 %", range_w, "W"),
        Column("Letter", letter, "count"),
        Column("What it does", lambda row: name_of(alphabet, row.id)),
    )
    rows = [row for row in _state_rows(alphabet, nodes) if (row.episodes if nodes else row.state is not None)]
    table = Table(columns, rows)
    if not nodes:
        table = table.without("Time", "Episodes", "Share %")
    return table if any(state.letter is not None for state in alphabet.states) else table.without("Letter")


def alphabet_json(alphabet: Alphabet) -> Json:
    """Return the alphabet that was learnt."""
    runs = Counter(run.application for run in alphabet.runs)
    return {
        "schema": SCHEMA,
        "simulated": alphabet.simulated,
        "counters": list(alphabet.scale.names),
        "states": _states_json(alphabet, []),
        "applications": [{"name": name, "runs": number} for name, number in sorted(runs.items())],
    }


def write_alphabet(alphabet: Alphabet, where: str, out: TextIO, *, width: int, colour: bool) -> None:
    """Write the alphabet that was learnt."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    names = sorted({run.application for run in alphabet.runs})
    console.print(
        f"{where}: {count(len(alphabet.states), 'state')} from {count(len(alphabet.scale.names), 'counter')}, "
        f"{count(len(alphabet.runs), 'run')} of {', '.join(names) or 'nothing'}", soft_wrap=True,
    )  # fmt: skip
    console.print()
    console.print(text_table(_states_table(alphabet, []), width))
    print_mark(console, simulated=alphabet.simulated)


def states_json(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> Json:
    """Return the states of nodes: `labels` are those of the first node, `nodes` has all of them."""
    return {
        "schema": SCHEMA,
        "method": "states",
        "simulated": alphabet.simulated or any(node.simulated for node in nodes),
        "labels": nodes[0].labels.tolist(),
        "states": _states_json(alphabet, nodes),
        "nodes": [_node_json(node) for node in nodes],
    }


def _states_json(alphabet: Alphabet, nodes: Sequence[NodeStates]) -> list[Json]:
    """Return the states, and the time that nodes spent in them."""

    def named(values: Sequence[float]) -> dict[str, float | None]:
        return {name: significant(value) for name, value in zip(alphabet.scale.names, values, strict=True)}

    out: list[Json] = []
    for row in _state_rows(alphabet, nodes):
        if (state := row.state) is None:
            continue
        power = state.power
        out.append({
            **fields(state, "id name idle letter"),
            **_fields(row, "seconds visits=episodes power_w"),
            "power_model": power and {
                **_fields(power, "base_w"),
                "watts_per": named(power.watts_per.tolist()),
                **_fields(power, "low_w high_w"),
            },
            "rates": named(state.rates.tolist()),
        })  # fmt: skip
    return out


def _node_json(node: NodeStates) -> Json:
    """Return the states of a node over time."""
    return {
        **fields(node, "node labels"),
        "times": np.round(node.times, 6).tolist(),
        **_fields(node, "lag_s simulated"),
        "stretches": [
            {**fields(each, "state start_s=begins_s end_s=ends_s"), **_fields(each, "energy_j")}
            for each in node.segments
        ],
        **_fields(node, "crowded notes"),
    }


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
    longest = max(node.segments[-1].ends_s - node.segments[0].begins_s for node in nodes)
    console.print(" " * (room + 2) + "0" + duration(longest).rjust(console.width - room - 3), soft_wrap=True)
    console.print()
    console.print(text_table(_states_table(alphabet, nodes), width))
    late = sorted({node.lag_s for node in nodes if node.lag_s})
    if late:
        console.print(f"power comes {', '.join(f'{lag:g} s' for lag in late[:4])} late: shifted back")
    shares = [node.crowded for node in nodes if node.crowded is not None]
    if shares and max(shares) > MOST_CROWDED:
        console.print(
            f"threads wait for a processor in {100 * max(shares):.0f} % of the rows: beside other work, and without "
            "hardware counters, idle, computing and memory-bound time look alike; sample the job by itself: incprof "
            "sample -i 1s -e all -- COMMAND",
            soft_wrap=True,
        )
    print_mark(console, simulated=alphabet.simulated or any(node.simulated for node in nodes))


def now_json(alphabet: Alphabet, now: Now) -> Json:
    """Return the state of a node after a row."""
    power = alphabet.states[now.state].power if now.state >= 0 else None
    return {
        "schema": SCHEMA,
        **fields(now, "time_s state"),
        "name": name_of(alphabet, now.state),
        **fields(now, "since_s changed"),
        "power_w": significant(power.mean_w if power else None),
        "simulated": alphabet.simulated,
        "next": [
            {"state": None if n.state == ENDED else n.state, "name": name_of(alphabet, n.state),
             "probability": significant(n.probability, 4), **fields(n, "in_s low_s high_s", _six)}
            for n in now.next
        ],
    }  # fmt: skip


def now_line(alphabet: Alphabet, now: Now) -> str:
    """Return the state of a node after a row, in one line."""
    line = f"{now.time_s:14.1f}  {name_of(alphabet, now.state)}, for {duration(max(now.time_s - now.since_s, 0.0))}"
    if now.next:
        best = now.next[0]
        line += f"; then {name_of(alphabet, best.state)} ({100 * best.probability:.0f} %) in {duration(best.in_s)}"
        line += f" ({duration(best.low_s)} to {duration(best.high_s)})"
    return line


def matches_json(matches: Sequence[Match]) -> Json:
    """Return which applications a run resembles."""
    rows = [fields(match, "application similarity pace done matches", _six) for match in matches]
    return {"schema": SCHEMA, "threshold": MATCHES, "matches": rows}


def write_matches(matches: Sequence[Match], out: TextIO) -> None:
    """Write which applications a run resembles."""
    for match in matches:
        verdict = "matches" if match.matches else f"no match (below {MATCHES:g})"
        out.write(f"{match.application}: {match.similarity:.2f}, {verdict}; ")
        out.write(f"{100 * match.done:.0f} % done, {match.pace:.2f} times as long\n")


def energy_json(estimate: Estimate) -> Json:
    """Return an estimate."""
    names = "application simulated energy_j low_j high_j seconds so_far_j paper_j done similarity"
    return {"schema": SCHEMA, **_fields(estimate, names)}


def write_energy(estimate: Estimate, out: TextIO) -> None:
    """Write an estimate."""
    total, low, high = (joules(value, 4) for value in (estimate.energy_j, estimate.low_j, estimate.high_j))
    out.write(f"{estimate.application}: {total} in all, {low} to {high}")
    out.write(f" (90 %); {duration(estimate.seconds)}\n")
    out.write(f"so far {joules(estimate.so_far_j, 4)}, {100 * estimate.done:.0f} % of the time; ")
    out.write(f"by the paper's ratio {joules(estimate.paper_j, 4)}; similarity {estimate.similarity:.2f}\n")
    if estimate.simulated:
        out.write(f"{MARK}\n")


def graph_json(alphabet: Alphabet, graph: Graph) -> Json:
    """Return the graph of a system."""
    states = [
        {"id": at, "letters": list(s.letters), "names": [name_of(alphabet, each) for each in s.letters], "idle": s.idle,
         **_fields(s, "seconds visits=episodes power_w")}
        for at, s in enumerate(graph.states)
    ]  # fmt: skip
    edges = [{"from": each.source, "to": each.target, **_fields(each, "count probability")} for each in graph.edges]
    return {"schema": SCHEMA, **fields(graph, "nodes simulated"), "states": states, "edges": edges}


def write_graph(alphabet: Alphabet, graph: Graph, out: TextIO) -> None:
    """Write the states of a system and their transitions."""
    for at, state in enumerate(graph.states[:MOST_STATES]):
        power = f", {state.power_w:.0f} W" if state.power_w is not None else ""
        episodes = count(state.episodes, "episode")
        name = _system_name(alphabet, state.letters, idle=state.idle)
        out.write(f"S{at}  {name}: {duration(state.seconds)} in {episodes}{power}\n")
        for edge in graph.edges:
            if edge.source == at:
                out.write(f"      {100 * edge.probability:3.0f} % to S{edge.target}\n")
    if graph.simulated:
        out.write(f"{MARK}\n")


def _system_name(alphabet: Alphabet, letters: Sequence[int], *, idle: bool) -> str:
    """Return the names of the states of a system's nodes; at most the first four."""
    if idle:
        return "idle"
    names = [name_of(alphabet, each) for each in letters]
    if len(set(names)) == 1:
        return names[0] + (" on all nodes" if len(names) > 1 else "")
    return " | ".join(names[:4]) + (" | ..." if len(names) > 4 else "")


def print_mark(console: Console, *, simulated: bool) -> None:
    """Write that power comes from a formula, if it does."""
    if simulated:
        console.print(MARK)
