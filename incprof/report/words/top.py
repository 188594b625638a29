"""What the live view's forms have in common: heartbeats lately, a phase's main site, labels as signs."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.live.model import NEW
from incprof.analysis.live.results import LivePhase, LiveProcess, LiveView
from incprof.analysis.views.ribbon import badge, sign
from incprof.model import Function
from incprof.report.words.colours import style
from incprof.report.words.names import ROOM, Names
from incprof.report.words.numbers import cell_len

NEW_SIGN = "?"
NEW_STYLE = "reverse"


@dataclass(frozen=True)
class BeatLine:
    """A heartbeat lately, all processes together. mean_s: None without a beat that ended.

    busy_pct: of wall time, per process. count: since the start. open: in progress.
    """

    id: int
    name: str | None
    rate_hz: float
    mean_s: float | None
    busy_pct: float
    count: int
    open: int


def main_site(phase: LivePhase) -> tuple[Function | None, str | None]:
    """Return the function that stands for a phase, and the kind of its site; None where there is none."""
    found = phase.found
    if found.sites:
        return found.sites[0].function, found.sites[0].kind
    return (found.functions[0].function, None) if found.functions and not found.off_cpu else (None, None)


def live_names(view: LiveView) -> Names:
    """Return what the functions are called in all that is shown of a job."""
    mains = [main_site(phase)[0] for phase in view.phases]
    steps = [view.front.step[0]] if view.front.step else []
    largest = [phase.found.functions[0].function for phase in view.phases if phase.found.functions]
    return Names([*filter(None, mains), *largest, *steps, *(f.function for f in view.front.functions)])


def label_sign(label: int) -> str:
    """Return the character of a label."""
    return NEW_SIGN if label == NEW else sign(label)


def label_badge(label: int) -> str:
    """Return a label for people: the number of a phase."""
    return NEW_SIGN if label == NEW else badge(label)


def label_style(label: int) -> str:
    """Return the colours of a label's character."""
    return NEW_STYLE if label == NEW else style(label)


def phase_of(view: LiveView, label: int) -> LivePhase | None:
    """Return the phase of a label."""
    return next((phase for phase in view.phases if phase.id == label), None)


def phase_words(view: LiveView, process: LiveProcess, names: Names, room: int = ROOM) -> str:
    """Return what a process is in, in words: `solve (loop)`."""
    phase = phase_of(view, process.label)
    if phase is None:
        if not view.front.samples:
            return "no samples"
        return "finding phases" if not view.fitted else "new" if process.label == NEW else "between phases"
    return site_words(phase, names, room)


def site_words(phase: LivePhase, names: Names, room: int = ROOM) -> str:
    """Return what a phase is, in words that take at most so many columns."""
    function, kind = main_site(phase)
    if function is None:
        return "outside the program" if phase.found.outside else "off the CPU" if phase.found.off_cpu else "-"
    behind = f" ({kind})" if kind else ""
    largest = phase.found.functions[:1]
    if phase.found.mostly == "mpi" and largest and largest[0].function.is_library:
        behind = f", in {names(function, room // 2)}{behind}"
        function = largest[0].function
    return names(function, max(room - cell_len(behind), 1)) + behind
