"""Places of sites and steps in the source, from the program's debug information."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.phase_result import Phase, PhaseResult, Site, Step, all_steps
from incprof.model import IntervalProfile, Run
from incprof.symbols.source_lines import line_weights, locate


def located(run: Run, profile: IntervalProfile, result: PhaseResult, exe: str | None) -> PhaseResult:
    """Give each site its file and line: the function's, or for a loop the line with the most samples in its phase."""
    functions = [site.function for phase in result.phases for site in phase.sites]
    functions += [step.function for phase in result.phases for step in all_steps(phase.steps)]
    begin = dict(zip(functions, locate(run, profile, functions, exe=exe), strict=True))

    def place(site: Site, phase: Phase) -> Site:
        file, line = begin[site.function].file, begin[site.function].line
        if site.kind == "loop":
            members = np.flatnonzero(result.labels == phase.id)
            lines = line_weights(run, profile, site.index, intervals=members, exe=exe)
            # Code inlined from elsewhere may be the hottest; the loop to instrument is in the function's own file.
            own = [entry for entry in lines if entry[0] == file] or lines
            file, line = own[0][:2] if own else (file, line)
        return replace(site, file=file, line=line)

    def place_step(step: Step) -> Step:
        at, below = begin[step.function], tuple(place_step(inner) for inner in step.steps)
        return replace(step, file=at.file, line=at.line, steps=below)

    def place_all(phase: Phase) -> Phase:
        sites, steps = (place(site, phase) for site in phase.sites), (place_step(step) for step in phase.steps)
        return replace(phase, sites=tuple(sites), steps=tuple(steps))

    return replace(result, phases=tuple(map(place_all, result.phases)))
