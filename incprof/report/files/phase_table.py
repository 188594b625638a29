"""The paper's Phase_Table: a row for each phase of the representative process, five columns.

Startpoint and endpoint are counted in events from 0; columns 3 and 4 are the number of the phase; column 5 is its
weight.
"""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.signature.find import Signature


def write_phase_table(signature: Signature, out: TextIO) -> None:
    """Write the rows, by first appearance; the endpoint is the event after the last one."""
    for phase in signature.process.found.phases:
        out.write(f"{int(phase.starts[0])} {int(phase.ends[0])} {phase.id} {phase.id} {phase.weight}\n")
