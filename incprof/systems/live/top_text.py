"""The live view as a frame of lines that fits a terminal, and as one line for a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from incprof.analysis.views.tracks import badge, runs, sign, stretched
from incprof.model import Function, IntArray
from incprof.report.words.colours import style
from incprof.report.words.display_names import ROOM, Names
from incprof.report.words.formatting import count, duration, fitted, overhead, padded, percent
from incprof.report.words.formatting import rate as three
from incprof.report.words.formatting import seconds as precise
from incprof.safe.printable import printable
from incprof.systems.live.job_state import NEW, LivePhase, LiveProcess, LiveView

# Each section gets its head and this many lines before another gets more.
FEWEST = 3
# Frames with fewer lines have no empty ones.
ROOMY = 16
# Functions with smaller shares, recently and overall, are not shown: they would be 0.0 %.
SEEN = 0.0005
LATE_S = 5.0
# Columns for a name in a log.
LONGEST = 80
# Columns for the program of a process, if there are several programs.
LONGEST_PROGRAM = 16
# Columns for the name of a phase, below which its step is omitted.
LEAST = 20


def frame(view: LiveView, beats: Sequence[BeatLine], *, width: int, height: int | None, note: str = "") -> list[Text]:
    """Return the lines of a frame, at most `height` of them (None: all), each at most `width` wide.

    note: state of the job, such as "ended".
    """
    gap = [Text()] if height is None or height >= ROOMY else []
    lines = [*_head(view, width, note), *gap, *_ribbon(view.front.labels, view.front.elapsed_s, width)]
    lines += [_now(view, width), *gap]
    sections = [_phases(view, width), _functions(view, width), _beats(beats, width), _processes(view, width)]
    sections = [section for section in sections if len(section) > 1]
    room = None if height is None else height - len(lines)
    if room is not None:
        sections = sections[: max(room // 2, 0)]
    wide = room is None or sum(map(len, sections)) + len(sections) <= room
    for section, lent in zip(sections, _rooms([len(s) for s in sections], room), strict=True):
        if wide and section is not sections[0]:
            lines.append(Text())
        lines += _cut(section, lent)
    for line in lines:
        line.truncate(width)
    return lines[:height]


def log_line(view: LiveView, beats: Sequence[BeatLine]) -> str:
    """Return the current state in one line."""
    front = view.front
    names = live_names(view)
    parts = [
        f"{duration(front.elapsed_s)}: phase {label_badge(front.label)} {phase_words(view, front, names)}"
        f" for {duration(front.since_s)}"
    ]
    if doing := _doing(front, names, ROOM):
        parts.append(doing)
    parts.append(f"{front.cpus:.2f} CPUs")
    hot = [f"{names(f.function)} {percent(f.share)}" for f in front.functions[:3] if f.share > 0 and not front.wait]
    if hot:
        parts.append("hot: " + ", ".join(hot))
    if beats:
        parts.append("beats: " + ", ".join(f"{_named(b.name or str(b.id))} {three(b.rate_hz)}/s" for b in beats[:3]))
    if len(view.processes) > 1:
        labels = [label_sign(process.label) for process in view.processes]
        parts.append("ranks in " + ", ".join(f"{sign}: {labels.count(sign)}" for sign in sorted(set(labels))))
    return ", ".join(parts)


def _named(text: str) -> str:
    """Return a printable name, truncated for a line of text."""
    return fitted(printable(text[: 20 * LONGEST]), LONGEST)


def _head(view: LiveView, width: int, note: str) -> list[Text]:
    """Return the program, and the quality of its recording."""
    front = view.front
    raw = front.metadata.raw
    total = max(front.metadata.ranks or 0, len({process.rank for process in view.processes}))
    first = [printable(front.metadata.app), f"pid {front.pid} on {printable(str(raw.get('host') or '?'))}"]
    first.append(f"rank {front.rank}" + (f" of {total}" if total > 1 else ""))
    first.append(duration(front.elapsed_s))
    if note:
        first.append(note)
    lost = sum(process.lost for process in view.processes)
    meta = front.metadata
    second = [
        f"{count(front.intervals, 'interval')} of {meta.interval_s:g} s"
        + (f" ({meta.pooled} recorded ones each)" if meta.pooled > 1 else ""),
        f"{count(front.samples, 'sample')} at {front.metadata.rate_hz:g}/s",
        f"{lost} lost",
        f"overhead {overhead(front.overhead_pct, front.own_s)}",
        f"{front.cpus:.2f} CPUs",
    ]
    return [Text(_joined(first, width), style="bold"), Text(_joined(second, width))]


def _joined(parts: list[str], width: int) -> str:
    """Join parts in a line; middle parts are omitted if there is no room."""
    while len(parts) > 2 and cell_len(", ".join(parts)) > width:
        parts = [parts[0], *parts[2:]]
    return fitted(", ".join(parts), width)


def _strip(labels: IntArray, width: int) -> Text:
    """Return a run as `width` characters."""
    line = Text()
    for label, length in runs(stretched(labels, width)) if width > 0 else []:
        line.append(label_sign(label) * length, style=label_style(label))
    return line


def _ribbon(labels: IntArray, elapsed_s: float, width: int) -> list[Text]:
    """Return the run so far, with a time axis under it."""
    return [_strip(labels, width), Text("0 s" + duration(elapsed_s).rjust(width - 3))]


def _now(view: LiveView, width: int) -> Text:
    """Return the current phase and step."""
    front = view.front
    line = Text("now ")
    line.append(f" {label_badge(front.label)} ", style=label_style(front.label))
    names = live_names(view)
    since = f", for {duration(front.since_s)}"
    room = width - line.cell_len - 1 - len(since)
    # The step is shown if there is room for it next to the phase.
    step = _doing(front, names, max(width // 4, 1))
    if step:
        step = ", " + step
        step = step if room - len(step) >= min(len(phase_words(view, front, names)), LEAST) else ""
    line.append(" " + phase_words(view, front, names, max(room - len(step), 12)) + since + step)
    return line


def _doing(front: LiveProcess, names: Names, room: int) -> str:
    """Return the step that a process is in, or what it waits for; empty if unknown. room: columns for each name."""
    if front.wait:
        return "waits in " + " < ".join(names(function, room) for function in front.wait)
    return "" if front.step is None else f"step {names(front.step[0], room)} {percent(front.step[1])}"


def _phases(view: LiveView, width: int) -> list[Text]:
    """Return the phases so far, largest first."""
    total, names = max(view.front.intervals, 1), live_names(view)
    lines = [Text(f"Phase  {'Run':>5}  Main site", style="bold")]
    for phase in sorted(view.phases, key=lambda phase: (-phase.intervals, phase.id)):
        line = Text()
        line.append(f" {label_badge(phase.id)} ", style=label_style(phase.id))
        line.append(f"    {percent(phase.intervals / total):>5}  ")
        line.append(site_words(phase, names, width - 15))
        lines.append(line)
    return lines


def _functions(view: LiveView, width: int) -> list[Text]:
    """Return the functions with most recent self time."""
    front = view.front
    lines = [Text(f"{'Now':>6}  {'Run':>6}  Self time by function, last {duration(front.now_s)}", style="bold")]
    names = live_names(view)
    for f in front.functions:
        if max(f.share, f.run_share) < SEEN:
            continue
        name = names(f.function, width - 16)
        lines.append(Text(f"{100 * f.share:5.1f}%  {100 * f.run_share:5.1f}%  {name}"))
    return lines


def _beats(beats: Sequence[BeatLine], width: int) -> list[Text]:
    """Return the recent heartbeats."""
    lines = [Text(f"{'ID':>4}  {'Rate /s':>8}  {'Mean':>8}  {'Wall %':>7}  {'Count':>9}  Heartbeat", style="bold")]
    for beat in beats:
        name = fitted(printable(beat.name or "-") + (f", {beat.open} in progress" if beat.open else ""), width - 46)
        mean = precise(beat.mean_s)
        lines.append(
            Text(
                f"{beat.id:>4}  {three(beat.rate_hz):>8}  {mean:>8}  {three(beat.busy_pct):>7}  {beat.count:>9}  {name}"
            )
        )
    return lines


def _processes(view: LiveView, width: int) -> list[Text]:
    """Return a line for each process, the most loaded first; none if there is only one."""
    apps = {process.metadata.app for process in view.processes}
    wide = min(max(map(cell_len, ["Program", *apps])), LONGEST_PROGRAM) if len(apps) > 1 else 0
    column = "  " + padded("Program", wide, right=False) if wide else ""
    head = f"{'Rank':>5} {'pid':>8}{column}  Phase  {'for':>10}  {'CPUs':>5} {'behind':>8}"
    lines = [Text(head, style="bold")]
    if len(view.processes) < 2:
        return []
    for process in sorted(view.processes, key=lambda p: (p.ended, -p.cpus, p.rank, not p.primary)):
        state = f"{process.behind_s:.3g} s" if process.behind_s > LATE_S else ""
        state = "killed" if process.killed else "ended" if process.ended else state
        line = Text(f"{process.rank:>5} {'' if process.primary and not wide else process.pid or '':>8}")
        line.append("  " + padded(fitted(printable(process.metadata.app), wide), wide, right=False) if wide else "")
        line.append("   ")
        line.append(f" {label_sign(process.label)} ", style=label_style(process.label))
        line.append(f"  {duration(process.since_s):>11}  {process.cpus:5.2f} {padded(state, 8, right=True)}  ")
        line.append_text(_strip(process.labels, width - line.cell_len))
        lines.append(line)
    return lines


def _rooms(lengths: Sequence[int], room: int | None) -> list[int]:
    """Return the number of lines of each section: a few for each, and the rest for those that need more."""
    if room is None or sum(lengths) <= room:
        return list(lengths)
    rooms = [0] * len(lengths)
    for least in (FEWEST, max(lengths, default=0)):
        for _ in range(least):
            for i, length in enumerate(lengths):
                if rooms[i] < min(length, least) and sum(rooms) < room:
                    rooms[i] += 1
    return rooms


def _cut(section: list[Text], room: int) -> list[Text]:
    """Return `room` lines of a section; the last one gives the number of omitted lines, unless it is the only one."""
    if len(section) <= room or room == 2:
        return section[:room]
    return [*section[: room - 1], Text(f"   ... {len(section) - room + 1} more", style="dim")] if room > 1 else []


# Common parts of the live view's outputs: recent heartbeats, a phase's main site, labels as characters.


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
    description = phase.description
    if description.sites:
        return description.sites[0].function, description.sites[0].kind
    return (
        (description.functions[0].function, None) if description.functions and not description.off_cpu else (None, None)
    )


def live_names(view: LiveView) -> Names:
    """Return display names for all functions shown of a job."""
    mains = [main_site(phase)[0] for phase in view.phases]
    steps = [view.front.step[0]] if view.front.step else []
    largest = [phase.description.functions[0].function for phase in view.phases if phase.description.functions]
    return Names(
        [*filter(None, mains), *largest, *steps, *view.front.wait, *(f.function for f in view.front.functions)]
    )


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
        return (
            "outside the program" if phase.description.outside else "off the CPU" if phase.description.off_cpu else "-"
        )
    suffix = f" ({kind})" if kind else ""
    largest = phase.description.functions[:1]
    if phase.description.mostly == "mpi" and largest and largest[0].function.is_library:
        suffix = f", in {names(function, room // 2)}{suffix}"
        function = largest[0].function
    return names(function, max(room - cell_len(suffix), 1)) + suffix
