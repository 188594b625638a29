"""Common parts of the live view's outputs: recent heartbeats, a phase's main site, labels as characters."""

from __future__ import annotations

from dataclasses import dataclass

from incprof.analysis.views.ribbon import badge, sign
from incprof.model import Function
from incprof.report.words.colours import style
from incprof.report.words.display_names import ROOM, Names
from incprof.report.words.formatting import cell_len
from incprof.systems.live.analyse.job_state import LivePhase, LiveProcess, LiveView
from incprof.systems.live.analyse.model import NEW

NEW_SIGN = "?"
NEW_STYLE = "reverse"


@dataclass(frozen=True)
class BeatLine:
    """A recent heartbeat, summed over all processes.

    Attributes:
        id: Id of the heartbeat.
        name: Its name; None without one.
        rate_hz: Beats per second.
        mean_s: Mean duration in seconds; None if no beat ended.
        busy_pct: Percent of wall time, per process.
        count: Number of beats since the start.
        open: Number of beats in progress.
    """

    id: int
    name: str | None
    rate_hz: float
    mean_s: float | None
    busy_pct: float
    count: int
    open: int


def main_site(phase: LivePhase) -> tuple[Function | None, str | None]:
    """Return the function that represents a phase, and the kind of its site; None if there is none."""
    found = phase.found
    if found.sites:
        return found.sites[0].function, found.sites[0].kind
    return (found.functions[0].function, None) if found.functions and not found.off_cpu else (None, None)


def live_names(view: LiveView) -> Names:
    """Return display names for all functions shown of a job."""
    mains = [main_site(phase)[0] for phase in view.phases]
    steps = [view.front.step[0]] if view.front.step else []
    largest = [phase.found.functions[0].function for phase in view.phases if phase.found.functions]
    return Names([*filter(None, mains), *largest, *steps, *(f.function for f in view.front.functions)])


def label_sign(label: int) -> str:
    """Return the character of a label."""
    return NEW_SIGN if label == NEW else sign(label)


def label_badge(label: int) -> str:
    """Return the text of a label: the number of a phase."""
    return NEW_SIGN if label == NEW else badge(label)


def label_style(label: int) -> str:
    """Return the colours of a label's character."""
    return NEW_STYLE if label == NEW else style(label)


def phase_of(view: LiveView, label: int) -> LivePhase | None:
    """Return the phase of a label."""
    return next((phase for phase in view.phases if phase.id == label), None)


def phase_words(view: LiveView, process: LiveProcess, names: Names, room: int = ROOM) -> str:
    """Return a description of a process' phase: `solve (loop)`."""
    phase = phase_of(view, process.label)
    if phase is None:
        if not view.front.samples:
            return "no samples"
        return "finding phases" if not view.fitted else "new" if process.label == NEW else "between phases"
    return site_words(phase, names, room)


def site_words(phase: LivePhase, names: Names, room: int = ROOM) -> str:
    """Return a description of a phase in at most `room` columns."""
    function, kind = main_site(phase)
    if function is None:
        return "outside the program" if phase.found.outside else "off the CPU" if phase.found.off_cpu else "-"
    behind = f" ({kind})" if kind else ""
    largest = phase.found.functions[:1]
    if phase.found.mostly == "mpi" and largest and largest[0].function.is_library:
        behind = f", in {names(function, room // 2)}{behind}"
        function = largest[0].function
    return names(function, max(room - cell_len(behind), 1)) + behind
