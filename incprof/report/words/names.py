"""What things are called on a page: short enough to be read, and no text that a program chose can do anything there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from incprof.analysis.phases.results import Phase
from incprof.analysis.views.calltree import (
    BROKEN_FRAME,
    ELIDED_FRAME,
    LIBRARY_FRAME,
    OTHER_FRAME,
    ROOT_FRAME,
    UNKNOWN_FRAME,
)
from incprof.model import Function, Metadata, module_label
from incprof.names import CONVERSION, parse
from incprof.printable import printable
from incprof.report.words.numbers import cell_len, fitted

# A function's name as it stands on a page.
Names = Callable[[str], str]

LONGEST = 240
# With fewer columns for the name itself, its mark is cut with it.
LEAST_OF_NAME = 8
# Code that is not a copy of the function's.
APART = re.compile(r"\.(?:_omp_fn|omp_outlined|cold)")
# As the function that has this time is called in the profile: one name for one thing.
UNKNOWN = "[no application frame]"
MARKERS = {
    ROOT_FRAME: "all",
    OTHER_FRAME: "[other]",
    ELIDED_FRAME: "[...]",
    BROKEN_FRAME: "[path cut off]",
    UNKNOWN_FRAME: UNKNOWN,
}


def clean(text: str, longest: int = LONGEST) -> str:
    """Return text that can be printed and written as UTF-8, with dots for its middle if it is long."""
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[-(longest // 2) :]
    return printable(text)


def shorten(name: str, room: int) -> str:
    """Return a printable name that fits in `room` columns.

    First its parameters are left out, then the mark of a copy that the compiler made, then its middle. A region or a
    cold part keeps its mark.
    """
    name = printable(name)
    if cell_len(name) <= room:
        return name
    found = parse(name)
    marks = found.marks if APART.search(found.marks) else ""
    if cell_len(found.bare + found.marks) <= room:
        marks = found.marks
    left = room - cell_len(marks)
    return fitted(found.bare, left) + marks if left >= LEAST_OF_NAME else fitted(found.bare + marks, room)


def short(name: str) -> str:
    """Return a function's name without parameters and template arguments, and no more than its class before it.

    Copies that the compiler made of a function are called as it is; regions and cold parts are not.
    """
    found = parse(name)
    parts = list(found.parts[-2:]) or [found.text]
    if parts[-1] == CONVERSION:
        parts[-1] = found.text[found.starts[-1] : found.end]
    return clean("::".join(parts) + (found.marks if APART.search(found.marks) else ""), 80)


def unique_names(names: Iterable[str]) -> Names:
    """Return how to call functions: by short names, with template arguments or parameters where those are equal."""
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(short(name), set()).add(name)
    longer: dict[str, str] = {}
    for same in groups.values():
        if len(same) > 1:
            tried = (dict(zip(same, forms, strict=True)) for forms in zip(*map(_longer, same), strict=True))
            longer |= next((found for found in tried if len(set(found.values())) == len(same)), {})
    return lambda name: longer.get(name) or short(name)


def _longer(name: str) -> tuple[str, str, str]:
    """Return the name with template arguments, with parameters as well, and with all that encloses it."""
    found = parse(name)
    own = clean(found.own.replace("> >", ">>"), 60)
    return clean(own + found.marks, 80), clean(own + found.text[found.end :] + found.marks, 80), clean(name, 80)


def frame_name(frame: int, functions: Sequence[Function], metadata: Metadata, names: Names = short) -> tuple[str, str]:
    """Return the short and the whole name of a frame of a call tree."""
    if frame >= 0:
        return names(functions[frame].name), clean(functions[frame].name)
    if frame > LIBRARY_FRAME:
        name = MARKERS[frame]
    else:
        paths = {module.id: module.path for module in metadata.modules}
        name = clean(module_label(paths.get(LIBRARY_FRAME - frame) or "library"), 80)
    return name, name


def where(file: str | None, line: int | None) -> str:
    """Return file:line with the file's base name; empty where it is not known."""
    if file is None:
        return ""
    name = clean(os.path.basename(file), 80)
    return f"{name}:{line}" if line is not None else name


# A function with less of a phase's time is no name for it.
NOTED = 0.05


def phase_names(phases: Sequence[Phase], names: Names = short) -> list[str]:
    """Return a name for each phase: its main site, else its largest function; told apart where several are equal."""
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
    """Return what tells phases of one name apart: a further site or else a function that only one of them has.

    By place; one that is left over needs nothing.
    """
    sites = [[names(site.function.name) for site in phase.sites[1:]] for phase in phases]
    totals = [[names(total.function.name) for total in phase.functions if total.share >= NOTED] for phase in phases]
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
    """Return what a phase is known by."""
    if phase.off_cpu:
        return "waiting"
    if phase.mostly == "mpi" and phase.functions[0].function.is_library:
        return names(phase.functions[0].function.name)
    if phase.sites:
        return names(phase.sites[0].function.name)
    return names(phase.functions[0].function.name) if phase.functions else "idle"
