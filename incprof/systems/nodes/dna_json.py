"""States of nodes as JSON, schema incprof.dna/1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np

from incprof.report.render.json import significant, write
from incprof.systems.nodes.analyse.energy_forecast import MATCHES, Estimate, Match
from incprof.systems.nodes.analyse.learn import name_of
from incprof.systems.nodes.analyse.live import ENDED, Now
from incprof.systems.nodes.analyse.node_states import Alphabet, Graph, NodeStates
from incprof.systems.nodes.analyse.paper import PaperStates, Transitions, probability
from incprof.systems.nodes.analyse.paper_letters import EXECUTED, PaperLetters
from incprof.systems.nodes.analyse.spelling import Spelling

SCHEMA = "incprof.dna/1"


def write_alphabet(alphabet: Alphabet, out: TextIO) -> None:
    """Write the alphabet that was learnt."""
    runs: dict[str, int] = {}
    for run in alphabet.runs:
        runs[run.application] = runs.get(run.application, 0) + 1
    answer = {
        "schema": SCHEMA,
        "simulated": alphabet.simulated,
        "counters": list(alphabet.scale.names),
        "states": [_state(alphabet, each.id, []) for each in alphabet.states],
        "applications": [{"name": name, "runs": count} for name, count in sorted(runs.items())],
    }
    write(answer, out)


def write_states(alphabet: Alphabet, nodes: Sequence[NodeStates], out: TextIO) -> None:
    """Write the states of nodes: `labels` are those of the first node, `nodes` has all of them."""
    answer = {
        "schema": SCHEMA,
        "method": "states",
        "simulated": alphabet.simulated or any(node.simulated for node in nodes),
        "labels": nodes[0].labels.tolist(),
        "states": [_state(alphabet, each.id, nodes) for each in alphabet.states],
        "nodes": [_node(node) for node in nodes],
    }
    write(answer, out)


def _state(alphabet: Alphabet, state: int, nodes: Sequence[NodeStates]) -> dict[str, object]:
    """Return a state, and the time that nodes spent in it."""
    found, power = alphabet.states[state], alphabet.states[state].power
    stretches = [s for node in nodes for s in node.stretches if s.state == state]
    seconds = sum(s.seconds for s in stretches)
    joules = [s.energy_j for s in stretches if s.energy_j is not None]
    measured = sum(joules) / seconds if len(joules) == len(stretches) and seconds else None
    return {
        "id": state,
        "name": found.name,
        "idle": found.idle,
        "letter": found.letter,
        "seconds": significant(seconds),
        "visits": len(stretches),
        "power_w": significant(measured if measured is not None else power.mean_w if power else None),
        "power_model": None if power is None else {
            "base_w": significant(power.base_w),
            "watts_per": _named(alphabet, power.watts_per.tolist()),
            "low_w": significant(power.low_w), "high_w": significant(power.high_w),
        },
        "rates": _named(alphabet, found.rates.tolist()),
    }  # fmt: skip


def _named(alphabet: Alphabet, values: Sequence[float]) -> dict[str, float | None]:
    """Return numbers of the counters by name."""
    return {name: significant(value) for name, value in zip(alphabet.scale.names, values, strict=True)}


def _node(node: NodeStates) -> dict[str, object]:
    return {
        "node": node.node,
        "labels": node.labels.tolist(),
        "times": np.round(node.times, 6).tolist(),
        "lag_s": significant(node.lag_s),
        "simulated": node.simulated,
        "stretches": [
            {"state": s.state, "start_s": round(s.begins_s, 6), "end_s": round(s.ends_s, 6),
             "energy_j": significant(s.energy_j)}
            for s in node.stretches
        ],
        "crowded": significant(node.crowded),
        "notes": list(node.notes),
    }  # fmt: skip


def write_paper(nodes: Sequence[PaperStates], out: TextIO) -> None:
    """Write the phases of Algorithm 1."""
    every = []
    for node in nodes:
        phases, times = node.phases, node.times
        codes = [-1 if letter is None else letter for letter in node.letters]
        labels = np.repeat(codes, [p.last - p.first for p in phases])
        every.append({
            "node": node.node,
            "labels": labels.tolist(),
            "lag_s": significant(node.lag_s),
            "phases": [
                {"letter": letter, "start_s": round(float(times[p.first]), 6), "rows": p.last - p.first,
                 "power_w": significant(watts)}
                for p, letter, watts in zip(phases, node.letters, node.power_w, strict=True)
            ],
        })  # fmt: skip
    write(
        {
            "schema": SCHEMA,
            "method": "paper",
            "simulated": any(node.simulated for node in nodes),
            "labels": every[0]["labels"],
            "nodes": every,
        },
        out,
    )


def now_object(alphabet: Alphabet, now: Now) -> dict[str, object]:
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


def write_matches(found: Sequence[Match], out: TextIO) -> None:
    """Write which applications a run resembles."""
    rows = [
        {"application": m.application, "similarity": significant(m.similarity, 6), "pace": significant(m.pace, 6),
         "done": significant(m.done, 6), "matches": m.matches}
        for m in found
    ]  # fmt: skip
    write({"schema": SCHEMA, "threshold": MATCHES, "matches": rows}, out)


def write_energy(found: Estimate, out: TextIO) -> None:
    """Write an estimate."""
    numbers = ("energy_j", "low_j", "high_j", "seconds", "so_far_j", "paper_j", "done", "similarity")
    answer = {name: significant(getattr(found, name)) for name in numbers}
    write({"schema": SCHEMA, "application": found.application, "simulated": found.simulated, **answer}, out)


def write_graph(alphabet: Alphabet, found: Graph, out: TextIO) -> None:
    """Write the graph of a system."""
    states = [
        {"id": at, "letters": list(s.letters), "names": [name_of(alphabet, each) for each in s.letters], "idle": s.idle,
         "seconds": significant(s.seconds), "visits": s.visits, "power_w": significant(s.power_w)}
        for at, s in enumerate(found.states)
    ]  # fmt: skip
    edges = [
        {"from": e.source, "to": e.target, "count": e.count, "probability": significant(e.probability)}
        for e in found.edges
    ]
    answer = {"nodes": list(found.nodes), "simulated": found.simulated, "states": states, "edges": edges}
    write({"schema": SCHEMA, **answer}, out)


# Runs in the paper's letters as JSON, schema incprof.dna/1.


def write_letters(found: PaperLetters, out: TextIO) -> None:
    """Write runs in letters, their alphabet, the matrix of each node, and the predictions. XXX is null."""
    options = found.options
    answer = {
        "schema": SCHEMA,
        "method": "letters",
        "simulated": found.simulated,
        "length_s": significant(options.length_s),
        "ranked": options.ranked,
        "relevant": options.way,
        "idle_below": significant(options.beta),
        "counters": list(found.counters),
        "alphabet": [
            {"letter": each.letter, "counters": list(each.counters), "count": each.times,
             "seconds": significant(each.seconds), "power_w": significant(each.power_w),
             "applications": list(each.applications)}
            for each in found.alphabet
        ],
        "runs": [_run(run, "learnt") for run in found.runs] + [_run(run, "test") for run in found.tests],
        "nodes": [{"node": node, "transitions": _edges(matrix)} for node, matrix in found.matrices.items()],
        "split": "test" if found.tests else "leave-one-out",
        "prediction": [
            {"node": each.node, "learnt_runs": each.learnt, "runs": each.runs, "letters": each.letters,
             "right": each.right, "accuracy": significant(each.right / each.letters if each.letters else None),
             "same_again": significant(each.same / each.letters if each.letters else None),
             "right_ahead": significant(each.ahead), "ahead": significant(each.rest)}
            for each in found.next_letters
        ],
        "energy": [
            {"application": each.application, "node": each.node, "runs": each.runs, "executed": EXECUTED,
             "estimated_j": significant(each.estimated_j), "measured_j": significant(each.measured_j),
             "peak_j": significant(each.peak_j), "accuracy": significant(each.accuracy),
             "error": significant(each.error), "letters_j": significant(each.letters_j)}
            for each in found.energies
        ],
    }  # fmt: skip
    write(answer, out)


def _run(run: Spelling, use: str) -> dict[str, object]:
    """Return a run: its letters, and its cache misses per cycle while it was not idle."""
    rows = run.rows
    misses = None
    if rows.misses is not None and (known := np.isfinite(rows.misses) & ~rows.idle).any():
        misses = float(rows.misses[known].mean())
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


def _edges(matrix: Transitions) -> list[dict[str, object]]:
    """Return the transitions of a node, by letter; XXX first."""
    return [
        {"from": a, "to": b, "count": count, "probability": significant(probability(row, b))}
        for a, row in sorted(matrix.items(), key=lambda item: _order(item[0]))
        for b, count in sorted(row.items(), key=lambda item: _order(item[0]))
    ]


def _order(letter: int | None) -> int:
    return -1 if letter is None else letter
