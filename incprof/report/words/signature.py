"""Words for the phases of a signature."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from incprof.analysis.signature.events import EventKind
from incprof.analysis.signature.find import ProcessSignature
from incprof.analysis.signature.results import EventPhase

# File and line of a kind of events; None where they are not known.
Place = Callable[[EventKind], tuple[str, int] | None]
# For each phase, that of the profile which it lies in, and the part of it that does; None where it is not known.
Within = Sequence[tuple[int, float] | None]
# Events of a phase that are named.
NAMED = 6


def place_of(kind: EventKind, place: Place) -> str:
    """Return where a call is: file and line, else module and address, else nothing."""
    found = place(kind)
    if found is not None:
        return f"{os.path.basename(found[0])}:{found[1]}"
    if kind.site is None or not kind.site.module:
        return ""
    return f"{os.path.basename(kind.site.module)}+{kind.site.address:#x}"


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
