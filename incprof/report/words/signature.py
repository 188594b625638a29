"""Words for the phases of a signature."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.analysis.signature.events import EventKind
from incprof.analysis.signature.find import ProcessSignature, Signature
from incprof.analysis.signature.results import EventPhase
from incprof.analysis.signature.work import TIMES
from incprof.report.words.work import work_unit

# For each phase, that of the profile which it lies in, and the part of it that does; None where it is not known.
Within = Sequence[tuple[int, float] | None]
# Events of a phase that are named.
NAMED = 6


def by_modes(signature: Signature) -> bool:
    """Tell whether occurrences were told apart by the modes of their work, which is a time."""
    is_time = signature.process.work_unit in TIMES
    return signature.method != "robust" and signature.options.similar is None and is_time


def work_line(signature: Signature) -> str:
    """Name the unit of work, and how it was compared."""
    process = signature.process
    unit = work_unit(process.work_unit, process.work_missing)
    return f"{unit}; compared by its modes" if by_modes(signature) else unit


def place_of(kind: EventKind) -> str:
    """Return where a call is: file and line, else module and address, else nothing."""
    return kind.key.partition("@")[2]


def calls_of(phase: EventPhase, process: ProcessSignature) -> str:
    """Name what a phase calls, in order; the same in a row once, with how often."""
    out: list[tuple[str, int]] = []
    for number in phase.kinds:
        name = process.kinds[number].function
        if out and out[-1][0] == name:
            out[-1] = (name, out[-1][1] + 1)
        else:
            out.append((name, 1))
    named = [name if count == 1 else f"{name} x{count}" for name, count in out[:NAMED]]
    return " ".join(named) + (f" and {len(phase.kinds)} calls in all" if len(out) > NAMED else "")
