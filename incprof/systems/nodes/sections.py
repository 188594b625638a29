"""Section on a node that was sampled during a run: its states and its power in each phase."""

from __future__ import annotations

from incprof.model.section import Column, Section, Table, unseen
from incprof.report.page.page_text import decimal_percent
from incprof.report.words.formatting import joules
from incprof.study.study import Study
from incprof.systems.nodes.analyse.learn import name_of
from incprof.systems.nodes.analyse.node_states import PhaseOnNode
from incprof.systems.nodes.node_answers import NodeOverlay

# Greatest number of node states named for a phase.
MOST_STATES = 4


def sections(study: Study, text: str) -> list[Section]:
    """Return power, energy and states of the node in each phase of a run.

    text: FILE or FILE+METER.
    """
    overlaid = NodeOverlay(study, text)

    def states(row: PhaseOnNode) -> list[str]:
        return [
            f"{name_of(overlaid.alphabet, state)}: {decimal_percent(share)}"
            for state, share in row.states[:MOST_STATES]
        ]

    columns = (
        Column("Phase", lambda row: row.phase, "phase", key="id"),
        Column("Sampled", lambda row: row.seconds, "duration", key="seconds"),
        Column("Power (W)", lambda row: None if row.power_w is None else f"{row.power_w:.0f}", "number"),
        Column("Energy", lambda row: None if row.energy_j is None else joules(row.energy_j, 4), "number"),
        Column("States", states, key="states"),
        *unseen("power_w energy_j"),
    )
    notes = [f"Node {overlaid.node.node}."]
    if overlaid.node.simulated:
        notes.append("Power is simulated: no sensor measured it.")
    if overlaid.node.watts is None:
        notes.append("No power was measured.")
    rows = [row for row in overlaid.phases if row.seconds and row.phase >= 0]
    return [Section("node", "What the node did", (Table(columns, rows, key="phases"),), notes=tuple(notes))]
