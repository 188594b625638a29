"""Which phases of the profile those of a signature lie in, where a run has both: they share one clock."""

from __future__ import annotations

import numpy as np

from incprof.analysis.signature.find import PARTS, ProcessSignature
from incprof.errors import IncprofError
from incprof.study.study import Study

# For a signature's phase: that of the profile, and the part of its time that lies there; None where it is not known.
Within = list[tuple[int, float] | None]


def within(directory: str, process: ProcessSignature) -> Within | None:
    """Return the profile's phase that each phase lies in; None where the rank has no profile."""
    try:
        study = Study(directory, rank=process.rank, nameless=True)
        start = study.profile.metadata.raw.get("start_mono_ns")
        labels, ends = study.result.labels, study.result.end_s
    except IncprofError:
        return None
    if not isinstance(start, int) or process.start_mono_ns is None:
        return None
    # The middle of each part of the traced run, on the profile's clock.
    middle = (np.arange(PARTS) + 0.5) / PARTS * process.found.aet_s + (process.start_mono_ns - start) * 1e-9
    place = np.searchsorted(ends, middle)
    inside = (middle >= 0) & (place < len(ends))
    found: Within = []
    for phase in process.found.phases:
        here = labels[place[inside & (process.parts == phase.id)]]
        values, counts = np.unique(here[here >= 0], return_counts=True)
        most = int(counts.argmax()) if len(counts) else -1
        found.append((int(values[most]), float(counts[most] / len(here))) if most >= 0 else None)
    return found
