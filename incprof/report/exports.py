"""Files for other programs: tables as CSV and Parquet, stacks, traces."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.analysis.views.stacks import Frame, StackSeries, StackTree
from incprof.analysis.views.tracks import Curve, RankTracks, SpanTrack
from incprof.model import BoolArray, FloatArray, IntArray, IntervalProfile, distinct
from incprof.model.section import Column, Table
from incprof.report.render.json import json_value
from incprof.report.words.display_names import Names, clean, names_of, phase_names, where

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array

# A formula begins with one of these in a spreadsheet, which ignores a leading tab.
FORMULA = ("=", "+", "-", "@", "\t")


class Lines:
    """Lines that end with a newline, of a writer that ends them with CR LF, and therefore quotes both."""

    def __init__(self, out: TextIO):
        self._out = out

    def write(self, row: str) -> int:
        """Write a row."""
        return self._out.write(row.removesuffix("\r\n") + "\n")


def write_rows(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows of a table below a header line; missing values are empty."""
    with_text_cells(rows).to_csv(Lines(out), index=False, lineterminator="\r\n")


def cell(text: str) -> str:
    """Return a text as spreadsheets show it: an apostrophe precedes anything that would be read as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def with_text_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which every text is a cell; numbers and missing values stay as they are."""
    text = [name for name, kind in rows.dtypes.items() if str(kind) in ("object", "str", "category")]
    return rows.assign(**{name: rows[name].astype("object").map(cell, na_action="ignore") for name in text})


def write_csv(table: Table, out: TextIO) -> None:
    """Write the columns that have a key. None becomes an empty cell; lists and mappings become JSON."""
    writer = csv.writer(Lines(out))
    writer.writerow([cell(column.key) for column in table.keyed])
    for row in table.rows:
        writer.writerow([_cell(column.get(row)) for column in table.keyed])


def _cell(value: Any) -> Any:
    """Return a value in the form that the writer takes."""
    value = json_value(value)
    if isinstance(value, list | dict):
        return json.dumps(value)
    return cell(value) if isinstance(value, str) else value


# Tables as CSV: a line of keys, then raw values; no cell can be read as a formula.


def write_phases_csv(result: PhaseResult, out: TextIO) -> None:
    """Write the columns interval, end_s, phase, cluster; phase -1 is a transition or unclassified."""
    ends = [f"{end:.6f}" for end in result.end_s.tolist()]
    rows = list(zip(range(len(ends)), ends, result.labels.tolist(), result.clusters.tolist(), strict=True))
    names = ("interval", "end_s", "phase", "cluster")
    columns = tuple(Column(None, itemgetter(place), key=name) for place, name in enumerate(names))
    write_csv(Table(columns, rows), out)


# An interval profile as a long table: a row per function and interval.


def write_profile_csv(profile: IntervalProfile, out: TextIO) -> None:
    """Write the rows of IntervalProfile.to_pandas without building it, except those in which both numbers are 0."""
    writer = csv.writer(Lines(out))
    writer.writerow(["interval", "start_s", "end_s", "function", "module", "self_s", "calls"])
    times = profile.start_s.tolist(), profile.end_s.tolist()
    for interval, (start, end, own, calls) in enumerate(
        zip(*times, _rows(profile.self_s), _rows(profile.calls), strict=True)
    ):
        for index in sorted(own.keys() | calls.keys()):
            function = profile.functions[index]
            numbers = f"{own.get(index, 0.0):.6f}", int(calls.get(index, 0))
            names = cell(function.name), cell(function.module)
            writer.writerow([interval, f"{start:.6f}", f"{end:.6f}", *names, *numbers])


def _rows(matrix: csr_array) -> list[dict[int, float]]:
    """Return the non-zero entries of each row."""
    ends = np.asarray(matrix.indptr).tolist()
    columns, values = matrix.indices.tolist(), matrix.data.tolist()
    rows = [zip(columns[a:b], values[a:b], strict=True) for a, b in pairwise(ends)]
    return [{column: value for column, value in row if value} for row in rows]


# pandas tables as files for other tools: CSV and Parquet.


def write_frame(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows below a header line; missing values are empty."""
    write_rows(rows.round(9), out)


def write_parquet(rows: pd.DataFrame, out: BinaryIO) -> None:
    """Write the rows as a Parquet file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Schema.from_pandas(rows, preserve_index=False)
    for place, field in enumerate(schema):
        # A column without a single value would have no type.
        if pa.types.is_null(field.type):
            schema = schema.set(place, pa.field(field.name, pa.string()))
    pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), out)


# Stacks in the folded form of flamegraph.pl: `main;solve;dot 123`, a line per distinct stack, counts in ticks.


def write_folded(series: StackSeries, out: TextIO) -> None:
    """Write the stacks in alphabetical order."""
    names = Names(frame for stack in series.stacks for frame in stack)
    total: Counter[str] = Counter()
    for index, weight in zip(series.stack.tolist(), series.weight.tolist(), strict=True):
        total[";".join(_folded(names(frame)) for frame in series.stacks[index])] += weight
    for line in sorted(total):
        if (ticks := round(total[line])) > 0:
            out.write(f"{line} {ticks}\n")


def _folded(name: str) -> str:
    """Return a name without the characters that separate frames and lines."""
    return name.replace(";", ":").replace("\n", " ").replace("\r", " ")


# Call stacks with their times as JSON, in the form of `hatchet.GraphFrame.from_literal` (docs/use/export.md).


def write_hatchet(tree: StackTree, out: TextIO) -> None:
    """Write a list of outermost frames with metrics and children.

    The metrics are `time` and `time (inc)` in seconds, and the same for each phase: `phase 0`, `phase 0 (inc)`, ...
    """
    names = ["time", *(f"phase {phase}" for phase in range(tree.own_s.shape[1] - 1))]
    called = Names(tree.frames)
    own, inclusive = tree.own_s.tolist(), tree.inclusive_s.tolist()
    nodes: list[dict[str, object]] = []
    children: list[list[object]] = []
    roots: list[object] = []
    for place, (frame, parent) in enumerate(zip(tree.frames, tree.parent.tolist(), strict=True)):
        metrics: dict[str, float] = {}
        for name, exclusive, total_s in zip(names, own[place], inclusive[place], strict=True):
            metrics |= {name: round(exclusive, 9), f"{name} (inc)": round(total_s, 9)}
        below: list[object] = []
        kind = "library" if frame.name.startswith("[") else "function"
        nodes.append({"frame": {"name": called(frame), "type": kind}, "metrics": metrics, "children": below})
        children.append(below)
        (roots if parent < 0 else children[parent]).append(nodes[place])
    json.dump(roots, out, separators=(",", ":"), allow_nan=False)
    out.write("\n")


# Stacks as a speedscope file: one sampled profile per thread, from its first sample on, weights in seconds.


SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(series: StackSeries, out: TextIO, *, name: str, rate_hz: float) -> None:
    """Write one JSON object; consecutive samples of a thread in the same stack become one."""
    number = _number_frames(series)
    names = Names(number)
    stacks = [[number[frame] for frame in stack] for stack in series.stacks]
    threads = distinct(series.thread)
    profiles = [_profile(series, int(t), series.thread == t, stacks, rate_hz) for t in threads]
    document = {
        "$schema": SCHEMA,
        "shared": {"frames": [_frame(frame, names(frame)) for frame in number]},
        "profiles": profiles,
        "name": name,
        "activeProfileIndex": 0,
        "exporter": "incprof",
    }
    json.dump(document, out, ensure_ascii=False, separators=(",", ":"))
    out.write("\n")


def _number_frames(series: StackSeries) -> dict[Frame, int]:
    """Number the frames in order of appearance."""
    number: dict[Frame, int] = {}
    for stack in series.stacks:
        for frame in stack:
            number.setdefault(frame, len(number))
    return number


def _frame(frame: Frame, name: str) -> dict[str, object]:
    """Return the frame in the schema's terms, without unknown fields."""
    fields = {"name": name, "file": frame.file, "line": frame.line}
    return {key: value for key, value in fields.items() if value is not None}


def _profile(
    series: StackSeries, thread: int, use: BoolArray, stacks: list[list[int]], rate_hz: float
) -> dict[str, object]:
    """Return the profile of one thread."""
    index, weight = _joined(series.stack[use], series.weight[use])
    seconds = [round(w / rate_hz, 9) for w in weight]
    # A sample stands for the time before it.
    start = round(max(float((series.time_s[use] - series.weight[use] / rate_hz)[0]), 0.0), 9)
    return {
        "type": "sampled",
        "name": f"thread {thread}",
        "unit": "seconds",
        "startValue": start,
        "endValue": round(start + sum(seconds), 9),
        "samples": [stacks[i] for i in index],
        "weights": seconds,
    }


def _joined(stack: IntArray, weight: FloatArray) -> tuple[list[int], list[float]]:
    """Join neighbours with the same stack. Returns (stack, summed weight)."""
    if not len(stack):
        return [], []
    first = np.flatnonzero(np.concatenate([[True], stack[1:] != stack[:-1]]))
    return stack[first].tolist(), np.add.reduceat(weight, first).tolist()


# A run in the trace event format, JSON object form, which Perfetto and chrome://tracing open (docs/use/export.md).


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
    for number, track in _others(rank):
        at = {"pid": rank.number, "tid": number}
        for span in track.spans:
            # These may take less than a microsecond.
            start_us, length_us = round(1e6 * span.start_s, 3), round(1e6 * span.seconds, 3)
            named: Event = {"name": span.name, "cat": span.category, "ph": "X", "args": dict(span.details)}
            yield {**named, "ts": start_us, "dur": length_us, **at}
    for curve in rank.curves:
        yield from _counts(curve, rank.number)


def _names(rank: RankTracks) -> Iterator[Event]:
    """Yield the events that name and order the rank's process and tracks."""
    yield _named("process_name", rank, 0, name=clean(rank.title))
    yield _named("process_sort_index", rank, 0, sort_index=rank.rank)
    tracks = [(PHASES, "phases")] if rank.phases else []
    tracks += [(FIRST_THREAD + t.thread, f"thread {t.thread}") for t in rank.threads]
    tracks += [(number, track.name) for number, track in _others(rank)]
    for number, name in tracks:
        yield _named("thread_name", rank, number, name=name)
        yield _named("thread_sort_index", rank, number, sort_index=number)


def _others(rank: RankTracks) -> Iterator[tuple[int, SpanTrack]]:
    """Yield the tracks of systems with their numbers, which follow those of threads."""
    first = FIRST_THREAD + max((one.thread for one in rank.threads), default=-1) + 1
    return enumerate(rank.others, first)


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
