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
from incprof.printable import printable

# A function's name as it stands on a page.
Names = Callable[[str], str]

LONGEST = 240
# What compilers add to the names of copies of functions.
COPY = re.compile(r"(\.(isra|constprop|part|lto_priv)(\.\d+)*| \[clone [^\]]*\])+$")
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
    """Return a printable name that fits in `room` characters: without its parameters, then with dots for its middle."""
    name = printable(name)
    if len(name) > room:
        name = without_parameters(name)
    if len(name) <= room:
        return name
    keep = max(room - 3, 2)
    return name[: (keep + 1) // 2] + "..." + name[len(name) - keep // 2 :]


def without_parameters(name: str) -> str:
    """Return a C++ name without its parameter list: `ns::f(int, g(*)(int)) const` becomes `ns::f`."""
    end = name.rfind(")")
    depth = 0
    for at in range(end, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at] if at > 0 and name[end + 1 :] in ("", " const") else name
    return name


def short(name: str) -> str:
    """Return a function's name without parameters and template arguments, and no more than its class before it."""
    if len(name) > 20 * LONGEST:
        name = name[: 20 * LONGEST]
    name = COPY.sub("", name)
    bare = _without_templates(without_parameters(name)) if not name.startswith(("[", "<")) else name
    parts = bare.split("::")
    return clean("::".join(parts[-2:]) if len(parts) > 2 else bare, 80)


def _without_templates(name: str) -> str:
    """Return a C++ name without what stands in angle brackets; operators keep theirs."""
    if "<" not in name or "operator" in name:
        return name
    depth, kept = 0, []
    for c in name:
        depth += c == "<"
        if not depth:
            kept.append(c)
        depth -= c == ">" and depth > 0
    # Brackets that do not match are no template's.
    bare = "".join(kept).strip()
    return name if depth or not re.search(r"\w", bare) else re.sub(r"^.* (?=[\w:~]+$)", "", bare)


def told_apart(names: Iterable[str]) -> Names:
    """Return how to call functions: by short names, with template arguments or parameters where those are equal."""
    groups: dict[str, set[str]] = {}
    for name in names:
        groups.setdefault(short(name), set()).add(name)
    longer: dict[str, str] = {}
    for same in groups.values():
        if len(same) > 1:
            forms = (_qualified, _with_parameters, lambda name: clean(name, 80))
            tried = ({name: form(name) for name in same} for form in forms)
            longer |= next((found for found in tried if len(set(found.values())) == len(same)), {})
    return lambda name: longer.get(name) or short(name)


def _qualified(name: str) -> str:
    """Return a function's name with its template arguments and no more than its class before it."""
    bare = without_parameters(name[: 20 * LONGEST])
    depth, starts = 0, [0]
    for at, c in enumerate(bare):
        depth += (c in "<({[") - (c in ">)}]")
        if depth == 0 and c == " ":
            starts = [at + 1]  # a type that it returns
        elif depth == 0 and bare.startswith("::", at):
            starts.append(at + 2)
    return clean(bare[starts[-2] if len(starts) > 1 else starts[0] :].replace("> >", ">>"), 60)


def _with_parameters(name: str) -> str:
    """Return the same with parameters."""
    return clean(_qualified(name) + name[len(without_parameters(name)) :], 80)


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
    if phase.sites:
        return names(phase.sites[0].function.name)
    return names(phase.functions[0].function.name) if phase.functions else "idle"
