"""What things are called on a page: short enough to be read, and no text that a program chose can do anything there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

from incprof.analysis.calltree import (
    BROKEN_FRAME,
    ELIDED_FRAME,
    LIBRARY_FRAME,
    OTHER_FRAME,
    ROOT_FRAME,
    UNKNOWN_FRAME,
)
from incprof.analysis.results import Phase
from incprof.model import Function, Metadata
from incprof.report.phases_text import without_parameters

LONGEST = 240
# What compilers add to the names of copies of functions.
COPY = re.compile(r"(\.(isra|constprop|part|lto_priv)(\.\d+)*| \[clone [^\]]*\])+$")
MARKERS = {
    ROOT_FRAME: "all",
    OTHER_FRAME: "[other]",
    ELIDED_FRAME: "[...]",
    BROKEN_FRAME: "[path cut off]",
    UNKNOWN_FRAME: "[unknown]",
}


def clean(text: str, longest: int = LONGEST) -> str:
    """Return text that can be printed and written as UTF-8, with dots for its middle if it is long."""
    if len(text) > longest:
        text = text[: longest // 2] + "…" + text[-(longest // 2) :]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


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


def frame_name(frame: int, functions: Sequence[Function], metadata: Metadata) -> tuple[str, str]:
    """Return the short and the whole name of a frame of a call tree."""
    if frame >= 0:
        return short(functions[frame].name), clean(functions[frame].name)
    if frame > LIBRARY_FRAME:
        name = MARKERS[frame]
    else:
        paths = {module.id: module.path for module in metadata.modules}
        name = f"[{clean(os.path.basename(paths.get(LIBRARY_FRAME - frame, '')), 80) or 'library'}]"
    return name, name


def where(file: str | None, line: int | None) -> str:
    """Return file:line with the file's base name; empty where it is not known."""
    if file is None:
        return ""
    name = clean(os.path.basename(file), 80)
    return f"{name}:{line}" if line is not None else name


def phase_names(phases: Sequence[Phase]) -> list[str]:
    """Return a name for each phase: its main site, else its largest function; told apart where several are equal."""
    names = [_main(phase) for phase in phases]
    often = Counter(names)
    for place, phase in enumerate(phases):
        if often[names[place]] > 1 and phase.sites:
            names[place] = f"{names[place]} ({phase.sites[0].kind})"
    often = Counter(names)
    for place, phase in enumerate(phases):
        second = next((short(t.function.name) for t in phase.functions if short(t.function.name) != names[place]), None)
        if often[names[place]] > 1 and second:
            names[place] = f"{names[place]} with {second}"
    return names


def _main(phase: Phase) -> str:
    """Return what a phase is known by."""
    if phase.off_cpu:
        return "waiting"
    if phase.sites:
        return short(phase.sites[0].function.name)
    return short(phase.functions[0].function.name) if phase.functions else "idle"
