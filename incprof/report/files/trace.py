"""A run in the trace event format, JSON object form, which Perfetto and chrome://tracing open (docs/use/export.md).

Each rank is a process: its phases on a first track, then a flame chart of each thread's samples, then curves. Events
are written one at a time, in whole microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.views.tracks import Curve, RankTracks
from incprof.report.words.display_names import Names, clean, names_of, phase_names, where

# Thread numbers of the tracks. 0 would be read as an idle processor.
PHASES, FIRST_THREAD = 1, 2

Event = Mapping[str, object]


def write_trace(ranks: Iterable[RankTracks], result: PhaseResult, out: TextIO, *, about: Mapping[str, object]) -> None:
    """Write one JSON object, rank by rank.

    result: of the rank in which the phases were found. about: facts about the trace.
    """
    # No displayTimeUnit: Perfetto reads it as the unit of the times.
    out.write('{"otherData":')
    out.write(_json(about))
    out.write(',"traceEvents":[')
    names = names_of(result)
    described = [
        _phase_fields(result, place, name, names) for place, name in enumerate(phase_names(result.phases, names))
    ]
    mark = "\n"
    for rank in ranks:
        for event in _events(rank, described):
            out.write(mark + _json(event))
            mark = ",\n"
    out.write("\n]}\n")


def _json(value: object) -> str:
    """Return JSON in pure ASCII."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _events(rank: RankTracks, described: Sequence[Event]) -> Iterator[Event]:
    """Yield a rank's events, beginning with the names of its tracks."""
    yield from _names(rank)
    at = {"pid": rank.number, "tid": PHASES}
    for start, end, phase in rank.phases:
        yield {**described[phase], "ph": "X", "ts": _us(start), "dur": _us(end) - _us(start), **at}
    names = Names(one.frame for thread in rank.threads for one in thread.slices)
    for thread in rank.threads:
        at = {"pid": rank.number, "tid": FIRST_THREAD + thread.thread}
        for one in sorted(thread.slices, key=lambda s: (s.begin_us, s.depth)):
            times = {"ts": one.begin_us, "dur": one.end_us - one.begin_us, "tts": one.cpu_begin_us, "tdur": one.cpu_us}
            yield {"name": names(one.frame), "cat": "samples", "ph": "X", **times, **at}
    for curve in rank.curves:
        yield from _counts(curve, rank.number)


def _names(rank: RankTracks) -> Iterator[Event]:
    """Yield the events that name and order the rank's process and tracks."""
    yield _named("process_name", rank, 0, name=clean(rank.title))
    yield _named("process_sort_index", rank, 0, sort_index=rank.rank)
    tracks = [(PHASES, "phases")] if rank.phases else []
    tracks += [(FIRST_THREAD + t.thread, f"thread {t.thread}") for t in rank.threads]
    for number, name in tracks:
        yield _named("thread_name", rank, number, name=name)
        yield _named("thread_sort_index", rank, number, sort_index=number)


def _named(what: str, rank: RankTracks, thread: int, **fields: object) -> Event:
    """Return a metadata event; thread 0 stands for the process."""
    at = {"pid": rank.number, "tid": thread} if thread else {"pid": rank.number}
    return {"name": what, "ph": "M", **at, "args": fields}


def _phase_fields(result: PhaseResult, place: int, name: str, names: Names) -> Event:
    """Return the fields of each slice of a phase."""
    phase = result.phases[place]
    sites = [f"{names(site.function)}:{site.kind} {where(site.file, site.line)}".strip() for site in phase.sites]
    steps = [f"{names(step.function)} {100 * step.share:.1f} %, {step.calls} calls" for step in phase.steps]
    args: dict[str, object] = {"phase": phase.id, "share of the run": f"{phase.app_pct:.1f} %"}
    args |= {"sites": [clean(text) for text in sites]} if sites else {}
    args |= {"steps": [clean(text) for text in steps]} if steps else {}
    return {"name": name, "cat": "phases", "args": args}


def _counts(curve: Curve, process: int) -> Iterator[Event]:
    """Yield a curve's counter events where its value changes, and 0 at its end."""
    name, before = clean(curve.name), -1.0
    values = [round(value, 4) for value in curve.values.tolist()]
    for start, value in zip([*curve.start_s.tolist(), curve.end_s], [*values, 0.0], strict=True):
        if value != before:
            yield {"name": name, "ph": "C", "ts": _us(start), "pid": process, "args": {curve.unit: value}}
        before = value


def _us(seconds: float) -> int:
    """Return whole microseconds."""
    return round(1e6 * seconds)
