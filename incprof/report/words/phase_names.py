"""Display names of phases, and of the functions in all text about a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from incprof.analysis.phase_result import Phase, PhaseResult, all_steps
from incprof.report.words.display_names import SHORT, Named, Names

# The number of a phase's functions that are named.
TOP_FUNCTIONS = 3
# A function with a smaller share of a phase's time does not name it.
NOTED = 0.05


def phase_names(phases: Sequence[Phase], names: Names = SHORT) -> list[str]:
    """Return a name for each phase: its main site, else its largest function; equal names are made distinct."""
    mains = [_main(phase, names) for phase in phases]
    kinds: dict[str, set[str]] = {}
    for main, phase in zip(mains, phases, strict=True):
        kinds.setdefault(main, set()).update(site.kind for site in phase.sites[:1])
    said = [
        f"{main} ({phase.sites[0].kind})" if len(kinds[main]) > 1 and phase.sites else main
        for main, phase in zip(mains, phases, strict=True)
    ]
    for name, often in Counter(said).items():
        if often > 1:
            group = [place for place, other in enumerate(said) if other == name]
            for place, second in _seconds([phases[place] for place in group], names).items():
                said[group[place]] = f"{name} with {second}"
    return said


def _seconds(phases: Sequence[Phase], names: Names) -> dict[int, str]:
    """Return what distinguishes phases of one name: a further site, or else a function, that only one of them has.

    By index; a single phase without one keeps its name.
    """
    sites = [[names(site.function) for site in phase.sites[1:]] for phase in phases]
    totals = [[names(total.function) for total in phase.functions if total.share >= NOTED] for phase in phases]
    mains = {_main(phase, names) for phase in phases}
    found: dict[int, str] = {}
    for lists in (sites, totals):
        for place, own in enumerate(lists):
            others = {name for other, theirs in enumerate(lists) if other != place for name in theirs} | mains
            second = next((name for name in own if name not in others and not name.startswith("[")), None)
            if second and place not in found and len(found) + 1 < len(phases):
                found[place] = second
    return found


def _main(phase: Phase, names: Names) -> str:
    """Return the main site or function of a phase."""
    if phase.off_cpu:
        return "outside the program" if phase.outside else "waiting"
    if phase.mostly == "mpi" and phase.functions[0].function.is_library:
        return names(phase.functions[0].function)
    if phase.sites:
        return names(phase.sites[0].function)
    return names(phase.functions[0].function) if phase.functions else "idle"


def without_site(phase: Phase) -> str:
    """Return the text that replaces the site of a phase without one."""
    return "(outside the program)" if phase.outside else "(off the CPU)" if phase.off_cpu else "(none)"


def names_of(result: PhaseResult, more: Iterable[Named | str] = ()) -> Names:
    """Return the names of the functions in all text about a result, and of `more`."""
    found: list[Named | str] = [*more]
    for phase in result.phases:
        found += [replace(site.function, file=site.file) for site in phase.sites]
        found += [total.function for total in phase.functions[:TOP_FUNCTIONS]]
        for step in all_steps(phase.steps):
            found += [replace(step.function, file=step.file), *([step.driver] if step.driver else [])]
            found += step.rest.waits if step.rest is not None else ()
    told = [one.function for room in (result.borders, result.levels, result.short) for one in room]
    return Names([*found, *filter(None, told)])
