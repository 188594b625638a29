"""Folded stacks, a file for each interval: `main;solve;dot 123`, a line for each stack, with its samples."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.errors import NoDataError
from incprof.readers.foreign.files import lines_of, series_of
from incprof.readers.foreign.interpreted import frame_of
from incprof.readers.foreign.timeline import Imported, Paths, Timeline, place_series, regular_edges

DEFAULT_HZ, DEFAULT_INTERVAL_S = 100.0, 1.0
KERNEL = "_[k]"


def read_folded(inputs: Sequence[str], interval_s: float | None, rate_hz: float | None) -> Imported:
    """Read a series as a timeline: each file is an interval.

    interval_s: length of each interval. rate_hz: samples per second of CPU time.

    Raises: NoDataError if none of the files contains a stack.
    """
    files, length, tick = series_of(inputs), interval_s or DEFAULT_INTERVAL_S, 1 / (rate_hz or DEFAULT_HZ)
    timeline = Timeline("app", Paths(), tick, edges_s=regular_edges(len(files), length), ordered=False)
    bad = 0
    for number, path in enumerate(files):
        count: dict[tuple[int, str], float] = {}
        with lines_of(path) as lines:
            for line in lines:
                found = _stack(line)
                if found is None:
                    bad += bool(line.strip()) and not line.startswith("#")
                    continue
                place = timeline.paths.add([f for name in found[0] if (f := frame_of(name)) is not None])
                count[place] = count.get(place, 0.0) + found[1]
        stacks = [(node, library, samples * tick) for (node, library), samples in sorted(count.items())]
        place_series(timeline, stacks, number * length, (number + 1) * length)
    if not len(timeline):
        raise NoDataError(f"{files[0]}: no line of folded stacks in it, such as main;solve 12")
    notes = [f"a file represents {length:g} s (-i), a sample {tick:g} s (--rate)"]
    if bad:
        notes.append(f"{bad} lines are no stack and were left out")
    return Imported("folded-intervals", [timeline], notes, bad > 0)


def _stack(line: str) -> tuple[list[str], float] | None:
    """Return the frames of a line, outermost first, and its samples; the frames may be missing, as in py-spy's."""
    stack, gap, count = line.rstrip().rpartition(" ")
    try:
        samples = float(count) if count[:1].isdigit() and len(count) < 20 else -1.0
    except ValueError:
        samples = -1.0
    if not gap or not 0 <= samples < 1e15:
        return None
    names = [name.strip().removesuffix(KERNEL) for name in stack.split(";")]
    return [name for name in names if name and name != "[unknown]"], samples
