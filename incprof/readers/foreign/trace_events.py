"""Chrome's trace events: slices with a beginning and an end, on the tracks of threads."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from incprof.errors import NoDataError
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.spans import EVENT_S, add_stretches, stretches
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

US = 1e-6
# Slices that `incprof export` puts beside those of threads.
PHASES = "phases"
UNNAMED = Frame("", "[unknown]")
Slice = tuple[float, float, float, Frame]


def read_trace_events(path: str) -> Imported:
    """Make a timeline of each process in a file, the one with most time first.

    Raises: NoDataError when there is no slice in it.
    """
    return understood(path, "file of trace events", lambda: _imported(document(path), path))


def _imported(found: Any, path: str) -> Imported:
    events = found["traceEvents"] if isinstance(found, dict) else found
    about = found.get("otherData") if isinstance(found, dict) else None
    about = about if isinstance(about, dict) else {}
    names: dict[Any, str] = {}
    complete: defaultdict[tuple[Any, Any], list[Slice]] = defaultdict(list)
    paired: defaultdict[tuple[Any, Any], list[tuple[float, bool, Frame]]] = defaultdict(list)
    for event in events:
        kind, track = event.get("ph"), (event.get("pid", 0), event.get("tid", 0))
        if kind == "M" and event.get("name") == "process_name":
            names[track[0]] = str(event["args"]["name"])
        if kind not in ("X", "B", "E") or event.get("cat") == PHASES:
            continue
        frame = frame_of(str(event.get("name", ""))) or UNNAMED
        time = float(event["ts"]) * US
        if kind == "X":
            lasts = float(event.get("dur", 0)) * US
            used = float(event["tdur"]) * US if "tdur" in event else lasts
            complete[track].append((time, lasts, used, frame))
        else:
            paired[track].append((time, kind == "B", frame))
    rate = about.get("rate_hz")
    tick = 1 / rate if isinstance(rate, int | float) and 1 <= rate <= 1e5 else EVENT_S
    timelines: dict[Any, Timeline] = {}
    paths = Paths()
    for thread, track in enumerate(sorted({*complete, *paired}, key=repr)):
        name = str(about.get("app") or names.get(track[0]) or "app")
        pid = track[0] if isinstance(track[0], int) else None
        timeline = timelines.setdefault(track[0], Timeline(name, paths, tick, pid))
        _add_slices(timeline, complete[track], thread)
        add_stretches(timeline, stretches(sorted(paired[track], key=lambda event: event[0])), thread)
    made = sorted((each for each in timelines.values() if len(each)), key=lambda each: (-len(each), each.pid or 0))
    if not made:
        raise NoDataError(f"{path}: no slice in it: traces with events of kind X, B or E have a time to import")
    if about.get("app"):
        made.sort(key=lambda each: each.pid or 0)
    return Imported("trace-events", made)


def _add_slices(timeline: Timeline, slices: list[Slice], thread: int) -> None:
    """Add complete slices of a track: what each spends outside of those inside it, over the time between these."""
    slices.sort(key=lambda each: (each[0], -each[1]))
    own = [used for _, _, used, _ in slices]
    pieces: list[list[tuple[float, float]]] = [[] for _ in slices]
    stacks: list[tuple[Frame, ...]] = []
    inside: list[tuple[int, float]] = []
    now = 0.0

    def leave(until: float) -> None:
        nonlocal now
        while inside and inside[-1][1] <= until:
            number, end = inside.pop()
            pieces[number].append((now, end))
            now = max(now, end)

    for number, (begin, lasts, used, frame) in enumerate(slices):
        leave(begin)
        end = begin + max(lasts, 0.0)
        if inside:
            pieces[inside[-1][0]].append((now, begin))
            own[inside[-1][0]] -= used
            end = min(end, inside[-1][1])
        stacks.append(((stacks[inside[-1][0]] if inside else ()) + (frame,))[-256:])
        inside.append((number, end))
        now = max(now, begin)
    leave(float("inf"))
    for stack, cpu, mine in zip(stacks, own, pieces, strict=True):
        wall = sum(max(end - begin, 0.0) for begin, end in mine)
        for begin, end in mine:
            if end > begin and cpu > 0:
                timeline.add(stack, end, cpu * (end - begin) / wall, wall_s=end - begin, thread=thread)
