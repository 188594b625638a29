"""Answers of `incprof dna` as text and as JSON, schema incprof.dna/1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from incprof.analysis.views.tracks import runs, sign, stretched
from incprof.model.section import Column, Table
from incprof.report.render.json import json_rows, significant
from incprof.report.render.text import text_table
from incprof.report.text.console import console_for
from incprof.report.words.colours import style
from incprof.report.words.formatting import count, duration, joules
from incprof.systems.nodes.analyse.comparable_rates import MOST_CROWDED
from incprof.systems.nodes.analyse.energy_forecast import MATCHES, Estimate, Match
from incprof.systems.nodes.analyse.learn import MARK, letter_name, name_of
from incprof.systems.nodes.analyse.live import ENDED, Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates, State
from incprof.systems.nodes.analyse.paper import PaperStates, Transitions, probability
from incprof.systems.nodes.analyse.paper_letters import EXECUTED, PaperLetters
from incprof.systems.nodes.analyse.spelling import Spelling

SCHEMA = "incprof.dna/1"
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
        seconds = sum(segment.seconds for segment in own)
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
    _mark(console, simulated=alphabet.simulated)


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
            "id": state.id,
            "name": state.name,
            "idle": state.idle,
            "letter": state.letter,
            "seconds": significant(row.seconds),
            "visits": row.episodes,
            "power_w": significant(row.power_w),
            "power_model": None if power is None else {
                "base_w": significant(power.base_w), "watts_per": named(power.watts_per.tolist()),
                "low_w": significant(power.low_w), "high_w": significant(power.high_w),
            },
            "rates": named(state.rates.tolist()),
        })  # fmt: skip
    return out


def _node_json(node: NodeStates) -> Json:
    """Return the states of a node over time."""
    return {
        "node": node.node,
        "labels": node.labels.tolist(),
        "times": np.round(node.times, 6).tolist(),
        "lag_s": significant(node.lag_s),
        "simulated": node.simulated,
        "stretches": [
            {"state": s.state, "start_s": round(s.begins_s, 6), "end_s": round(s.ends_s, 6),
             "energy_j": significant(s.energy_j)}
            for s in node.segments
        ],
        "crowded": significant(node.crowded),
        "notes": list(node.notes),
    }  # fmt: skip


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
    _mark(console, simulated=alphabet.simulated or any(node.simulated for node in nodes))


def paper_json(nodes: Sequence[PaperStates]) -> Json:
    """Return the phases of Algorithm 1."""
    every: list[Json] = []
    for node in nodes:
        phases, times = node.phases, node.times
        codes = [-1 if letter is None else letter for letter in node.letters]
        every.append({
            "node": node.node,
            "labels": np.repeat(codes, [p.last - p.first for p in phases]).tolist(),
            "lag_s": significant(node.lag_s),
            "phases": [
                {"letter": letter, "start_s": round(float(times[p.first]), 6), "rows": p.last - p.first,
                 "power_w": significant(watts)}
                for p, letter, watts in zip(phases, node.letters, node.power_w, strict=True)
            ],
        })  # fmt: skip
    simulated = any(node.simulated for node in nodes)
    return {"schema": SCHEMA, "method": "paper", "simulated": simulated, "labels": every[0]["labels"], "nodes": every}


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


def now_json(alphabet: Alphabet, now: Now) -> Json:
    """Return the state of a node after a row."""
    power = alphabet.states[now.state].power if now.state >= 0 else None
    return {
        "schema": SCHEMA,
        "time_s": round(now.time_s, 6),
        "state": now.state,
        "name": name_of(alphabet, now.state),
        "since_s": round(now.since_s, 6),
        "changed": now.changed,
        "power_w": significant(power.mean_w if power else None),
        "simulated": alphabet.simulated,
        "next": [
            {"state": None if n.state == ENDED else n.state, "name": name_of(alphabet, n.state),
             "probability": significant(n.probability, 4), "in_s": significant(n.in_s, 6),
             "low_s": significant(n.low_s, 6), "high_s": significant(n.high_s, 6)}
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
    rows = [
        {"application": m.application, "similarity": significant(m.similarity, 6), "pace": significant(m.pace, 6),
         "done": significant(m.done, 6), "matches": m.matches}
        for m in matches
    ]  # fmt: skip
    return {"schema": SCHEMA, "threshold": MATCHES, "matches": rows}


def write_matches(matches: Sequence[Match], out: TextIO) -> None:
    """Write which applications a run resembles."""
    for match in matches:
        verdict = "matches" if match.matches else f"no match (below {MATCHES:g})"
        out.write(f"{match.application}: {match.similarity:.2f}, {verdict}; ")
        out.write(f"{100 * match.done:.0f} % done, {match.pace:.2f} times as long\n")


def energy_json(estimate: Estimate) -> Json:
    """Return an estimate."""
    numbers = ("energy_j", "low_j", "high_j", "seconds", "so_far_j", "paper_j", "done", "similarity")
    answer = {name: significant(getattr(estimate, name)) for name in numbers}
    return {"schema": SCHEMA, "application": estimate.application, "simulated": estimate.simulated, **answer}


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
         "seconds": significant(s.seconds), "visits": s.episodes, "power_w": significant(s.power_w)}
        for at, s in enumerate(graph.states)
    ]  # fmt: skip
    edges = [
        {"from": e.source, "to": e.target, "count": e.count, "probability": significant(e.probability)}
        for e in graph.edges
    ]
    nodes = list(graph.nodes)
    return {"schema": SCHEMA, "nodes": nodes, "simulated": graph.simulated, "states": states, "edges": edges}


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


def _mark(console: Console, *, simulated: bool) -> None:
    """Write that power comes from a formula, if it does."""
    if simulated:
        console.print(MARK)


# Runs in the paper's letters.


MOST_RUNS, MOST_LETTERS, MOST_OF_RUN = 12, 16, 60


def _letters_table(letters: PaperLetters) -> Table:
    """Return a row for each letter of the alphabet."""
    columns = (
        Column("Letter", lambda each: letter_name(each.letter), "count"),
        Column(None, lambda each: each.letter, key="letter"),
        Column("Time", lambda each: each.seconds, "duration", key="seconds"),
        Column("Power W", lambda each: f"{each.power_w:.0f}", "W"),
        Column(None, lambda each: each.power_w, key="power_w"),
        Column(None, lambda each: each.times, key="count"),
        Column("Counters", lambda each: list(each.counters), key="counters"),
        Column("Applications", lambda each: list(each.applications), key="applications"),
    )
    return Table(columns, letters.alphabet)


def _energy_table(letters: PaperLetters) -> Table:
    """Return a row for the runs of each application on each node, as in Table 2 of the paper."""

    def energy(head: str, name: str) -> tuple[Column, Column]:
        return (
            Column(head, lambda row: joules(getattr(row, name), 4), "J"),
            Column(None, lambda row: getattr(row, name), key=name),
        )

    columns = (
        Column("Runs", lambda row: row.runs, "count", key="runs"),
        *energy("Estimated", "estimated_j"),
        *energy("Measured", "measured_j"),
        *energy("Peak", "peak_j"),
        Column("Accuracy", lambda row: f"{row.accuracy:.3f}", "number"),
        Column(None, lambda row: row.accuracy, key="accuracy"),
        Column("Error %", lambda row: row.error, "percent", key="error"),
        *energy("By letters", "letters_j"),
        Column("Of", lambda row: f"{row.application} on {row.node}"),
        Column(None, lambda row: row.application, key="application"),
        Column(None, lambda row: row.node, key="node"),
        Column(None, lambda row: EXECUTED, key="executed"),
    )
    return Table(columns, letters.energies)


def letters_json(letters: PaperLetters) -> Json:
    """Return runs in letters, their alphabet, the matrix of each node, and the predictions. XXX is null."""
    options = letters.options
    return {
        "schema": SCHEMA,
        "method": "letters",
        "simulated": letters.simulated,
        "length_s": significant(options.length_s),
        "ranked": options.ranked,
        "relevant": options.select,
        "idle_below": significant(options.beta),
        "counters": list(letters.counters),
        "alphabet": json_rows(_letters_table(letters)),
        "runs": [_run_json(run, "learnt") for run in letters.runs] + [_run_json(run, "test") for run in letters.tests],
        "nodes": [{"node": node, "transitions": _edges_json(matrix)} for node, matrix in letters.matrices.items()],
        "split": "test" if letters.tests else "leave-one-out",
        "prediction": [
            {"node": each.node, "learnt_runs": each.learnt, "runs": each.runs, "letters": each.letters,
             "right": each.right, "accuracy": significant(each.right / each.letters if each.letters else None),
             "same_again": significant(each.same / each.letters if each.letters else None),
             "right_ahead": significant(each.correct_ahead), "ahead": significant(each.to_come)}
            for each in letters.next_letters
        ],
        "energy": json_rows(_energy_table(letters)),
    }  # fmt: skip


def _run_json(run: Spelling, use: str) -> Json:
    """Return a run: its letters, and its cache misses per cycle while it was not idle."""
    rows = run.rows
    misses = None
    if rows.misses is not None and (measured := np.isfinite(rows.misses) & ~rows.idle).any():
        misses = float(rows.misses[measured].mean())
    return {
        "application": run.application,
        "node": rows.node,
        "file": run.source,
        "use": use,
        "start_s": round(rows.begins_s, 6),
        "seconds": significant(rows.seconds),
        "energy_j": significant(rows.energy_j(0, 1)),
        "lag_s": significant(rows.lag_s),
        "misses_per_cycle": significant(misses),
        "letters": list(run.letters),
    }


def _edges_json(matrix: Transitions) -> list[Json]:
    """Return the transitions of a node, by letter; XXX first."""

    def order(item: tuple[int | None, Any]) -> int:
        return -1 if item[0] is None else item[0]

    return [
        {"from": a, "to": b, "count": times, "probability": significant(probability(row, b))}
        for a, row in sorted(matrix.items(), key=order)
        for b, times in sorted(row.items(), key=order)
    ]


def write_letters(letters: PaperLetters, out: TextIO, *, width: int, colour: bool) -> None:
    """Write runs in letters, the alphabet, and the predictions."""
    console = console_for(out, width=width, colour=colour, terminal=colour)
    runs = [*letters.runs, *letters.tests]
    for run in runs[:MOST_RUNS]:
        shown = " ".join(letter_name(letter) for letter in run.letters[:MOST_OF_RUN])
        more = f" ... {len(run.letters)} in all" if len(run.letters) > MOST_OF_RUN else ""
        console.print(f"{run.application} on {run.rows.node}: {shown}{more}", soft_wrap=True)
    if len(runs) > MOST_RUNS:
        console.print(f"... and {count(len(runs) - MOST_RUNS, 'run')} more")
    console.print()
    table = _letters_table(letters)
    console.print(text_table(replace(table, rows=table.rows[:MOST_LETTERS]), width))
    if len(table.rows) > MOST_LETTERS:
        console.print(f"... and {count(len(table.rows) - MOST_LETTERS, 'letter')} more")
    console.print()
    _write_prediction(console, letters)
    _mark(console, simulated=letters.simulated)


def _write_prediction(console: Console, letters: PaperLetters) -> None:
    """Write how runs were split, and the accuracy of the predicted letters and energy."""
    tests = count(len(letters.tests), "test run")
    split = (
        f"{tests} by {count(len(letters.runs), 'run')}" if letters.tests else "each run by the other runs of its node"
    )
    if not letters.next_letters and not letters.energies:
        console.print("not predicted: that takes two runs of a node, or --test", soft_wrap=True)
        return
    console.print(f"predicted: {split}", soft_wrap=True)
    for each in letters.next_letters:
        if each.letters:
            console.print(
                f"{each.node}: next letter right {100 * each.right / each.letters:.0f} % of {each.letters} "
                f"(the same again: {100 * each.same / each.letters:.0f} %); from the second letter on "
                f"{each.correct_ahead:.1f} of {each.to_come:.1f} letters right",
                soft_wrap=True,
            )
    if letters.energies:
        console.print()
        console.print(text_table(_energy_table(letters), console.width))
        console.print(f"estimated from the first {100 * EXECUTED:.0f} % of each run", soft_wrap=True)
