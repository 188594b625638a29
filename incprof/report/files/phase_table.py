"""The paper's Phase_Table: a row for each phase of the representative process, five columns.

Startpoint and endpoint are counted from 0, in events or in sends; columns 3 and 4 are the number of the phase; column 5
is its weight.
"""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.signature.find import Signature


def write_phase_table(signature: Signature, out: TextIO, *, in_sends: bool) -> None:
    """Write the rows, by first appearance; the endpoint is the event, or the send, after the last one."""
    process = signature.process
    for phase, sends in zip(process.found.phases, process.sends, strict=True):
        start, end = sends if in_sends else (int(phase.starts[0]), int(phase.ends[0]))
        out.write(f"{start} {end} {phase.id} {phase.id} {phase.weight}\n")
