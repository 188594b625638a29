"""The unit of the work between MPI calls, in words."""

from __future__ import annotations

from incprof.analysis.signature.work import SECONDS as SECONDS
from incprof.printable import printable


def work_unit(unit: str, missing: str) -> str:
    """Return the unit in which work is given, and why it is not instructions.

    Args:
        unit: the name of a counter, or "seconds".
        missing: why there is no counter, as of `Work`.
    """
    if unit != SECONDS:
        return f"work in {printable(unit)}"
    reasons = {
        "": "the trace has no counts",
        "few": "too few calls have counts",
        "off": "counting was turned off (INCPROF_TRACE_COUNTERS)",
    }
    return f"work in CPU time: {reasons.get(missing) or f'the machine counts no instructions ({printable(missing)})'}"
