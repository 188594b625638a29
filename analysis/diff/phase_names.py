"""Names of phases across several runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from incprof.analysis.diff.match import Group
from incprof.analysis.diff.measure import Measured
from incprof.model.names import without_marks


def name_groups(runs: Sequence[Measured], groups: Sequence[Group]) -> list[tuple[str, str]]:
    """Return a name for each phase: the function of its main site, else its largest one, and a unique suffix."""
    found = [_main(runs, group) for group in groups]
    often = Counter(name for name, *_ in found)
    files = Counter((name, file) for name, _, file in found)
    names = [
        (name, f" ({file if file and files[name, file] == 1 else kind})" if often[name] > 1 and kind else "")
        for name, kind, file in found
    ]
    seen: Counter[tuple[str, str]] = Counter()
    unique = []
    for name, behind in names:
        seen[name, behind] += 1
        unique.append((name, behind + (f" #{seen[name, behind]}" if seen[name, behind] > 1 else "")))
    return unique


def _main(runs: Sequence[Measured], group: Group) -> tuple[str, str, str]:
    """Return the name of a phase, the kind of its main site, and that site's file, if known."""
    chosen = [run.result.phases[p] for run, phases in zip(runs, group.members, strict=True) for p in phases]
    if chosen and all(phase.off_cpu for phase in chosen):
        return "waiting", "", ""
    for phase in chosen:
        if phase.sites:
            site = phase.sites[0]
            return without_marks(site.function.name), site.kind, os.path.basename(site.file or "")
    for phase in chosen:
        if phase.functions:
            return without_marks(phase.functions[0].function.name), "", ""
    return "idle", "", ""
