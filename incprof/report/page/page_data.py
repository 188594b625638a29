"""The input of a page's scripts: one JSON object, written so that it can stand in a <script> element."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from incprof.analysis.phase_result import all_steps
from incprof.analysis.views.page_parts import BeatLanes, PageParts, RankMap, RankRow
from incprof.analysis.views.timed_calltree import ROOT_FRAME, UNKNOWN_FRAME
from incprof.analysis.views.tracks import Entries, cells
from incprof.model import FloatArray, IntArray
from incprof.model.section import Lane
from incprof.model.time_use import SPENT
from incprof.report.page.page_text import grouped_count
from incprof.report.render.json import exact, fields, rounded
from incprof.report.words.colours import FUNCTIONS, NO_PHASE, PHASES, REST
from incprof.report.words.display_names import UNKNOWN, Names, clean, frame_name, phase_names, where
from incprof.report.words.phase_words import name_of, times_of
from incprof.report.words.ranks import ranges, spans
from incprof.report.words.site_evidence import WORDS

# After this, the text can neither end the element nor begin a comment, and holds no line end of a JavaScript parser.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def embedded(value: object) -> str:
    """Return JSON for a <script> element."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def page_data(parts: PageParts, names: Names) -> dict[str, Any]:
    """Return the data of the plots: seconds, or ticks where the name says so. names: of functions."""
    timed, bins = parts.timed, parts.timed.bins
    phases = zip(parts.result.phases, phase_names(parts.result.phases, names), strict=True)
    return {
        "run": {
            "app": clean(parts.run.app),
            **fields(parts.run, "rank rate_hz intervals", exact),
            "libs": parts.libs,
        },
        "time": {
            "start": numbers(bins.start_s, 6),
            "end": numbers(bins.end_s, 6),
            "label": bins.label.tolist(),
            "step": timed.cells.step,
            "spent": []
            if parts.result.spent is None
            else [SPENT[kind] for kind in cells(parts.result.spent, len(bins.start_s))],
            "spent_words": WORDS,
        },
        "phases": [
            {
                "id": phase.id,
                "name": name,
                "seconds": rounded(phase.seconds),
                "steps": sorted({step.index for step in all_steps(phase.steps)}),
            }
            for phase, name in phases
        ],
        "short": [
            {
                "name": name_of(segment, names),
                "times": [[rounded(t) for t in time] for time in times_of(parts.result, segment)],
            }
            for segment in parts.result.short
        ],
        "series": _series(parts, names),
        "tree": _tree(parts, names),
        "cells": {
            "bin": timed.cells.bin.tolist(),
            "label": timed.cells.label.tolist(),
            "ticks": _by_cell(timed.ticks, len(timed.cells.bin)),
        },
        "counted": parts.run.counted,
        "calls": {"columns": timed.called.tolist(), "cells": _by_cell(timed.calls, len(timed.cells.bin))},
        "colours": {"phases": PHASES, "functions": FUNCTIONS, "none": NO_PHASE, "rest": REST},
        "scores": [fields(score, "k inertia silhouette") for score in parts.result.scores],
        "chosen": parts.result.k_clusters,
        "ranks": None if parts.ranks is None else ranks_data(parts.ranks),
        "beats": None if parts.beats is None else _beats(parts.beats),
        "lanes": {section.name: [*map(_lane, section.lanes)] for section in parts.sections if section.lanes},
    }


def _series(parts: PageParts, names: Names) -> dict[str, Any]:
    """Return the self time of each function, and of all others if any, in seconds per second."""
    series, wall = parts.timed.series, parts.timed.bins.wall_s
    functions = [parts.functions[i] for i in series.functions.tolist()]
    left_out = len(parts.functions) - len(functions)
    others = [grouped_count(left_out, "other function")] if left_out else []
    return {
        "names": [names(f) for f in functions] + others,
        "full": [clean(f.name) for f in functions] + [""] * len(others),
        "functions": series.functions.tolist(),
        "values": [numbers(column / wall, 4) for column in series.self_s.T[: len(functions) + len(others)]],
    }


def _tree(parts: PageParts, names: Names) -> dict[str, Any]:
    """Return the call tree. Each name is stored once: `frame` holds indices into `frames`."""
    tree = parts.timed.tree
    used, place = np.unique(tree.frame, return_inverse=True)
    functions = {f.name: column for column, f in enumerate(parts.functions)}
    frames = []
    for frame in used.tolist():
        name, full = frame_name(frame, parts.functions, parts.metadata, names)
        entry: dict[str, Any] = {"name": "whole run" if frame == ROOT_FRAME else name, "function": frame}
        if full != name:
            entry["full"] = full
        if frame == UNKNOWN_FRAME and UNKNOWN in functions:
            entry["like"] = functions[UNKNOWN]
        if frame in parts.inlined:
            entry["inlined"] = True
        if frame >= 0 and (at := where(parts.functions[frame].file, parts.functions[frame].line)):
            entry["where"] = at
        frames.append(entry)
    return {"parent": tree.parent.tolist(), "frame": place.tolist(), "frames": frames, "joined": tree.joined}


def _by_cell(table: Entries, cells: int) -> list[list[int]]:
    """Return column, value, column, value, ... of each cell; a column is stored as the difference to the previous."""
    bounds = np.searchsorted(table.cell, np.arange(cells + 1))
    before: IntArray = np.concatenate([np.zeros(1, np.int64), table.column])[: len(table.column)]
    before[bounds[:-1][bounds[:-1] < len(before)]] = 0
    flat = np.stack([table.column - before, table.value], axis=1).ravel().tolist()
    return [flat[2 * low : 2 * high] for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]


def _lane(lane: Lane) -> dict[str, Any]:
    """Return a lane of a section, values with three significant digits."""
    edges = numbers(lane.edges, 4)
    return {
        "key": lane.key,
        "name": lane.name,
        "full": lane.title,
        "unit": lane.unit,
        "phase": None,
        "start": edges[:-1],
        "end": edges[1:],
        "values": [float(f"{value:.3g}") if np.isfinite(value) else None for value in lane.values.tolist()],
    }


def _beats(beats: BeatLanes) -> dict[str, Any]:
    """Return a lane for each heartbeat: beats per second, mean duration, and beats in progress."""
    lanes = []
    phases = beats.phases or (None,) * len(beats.beats)
    for beat, trace, phase in zip(beats.beats, beats.traces, phases, strict=True):
        factor = beat.rate_factor
        lanes.append(
            {
                "id": beat.id,
                "name": clean(beat.name or f"id {beat.id}", 120),
                "phase": phase,
                "pulses": not beat.count and beat.pulses > 0,
                "count": beat.count or beat.pulses,
                "factor": round(factor),
                "rate_hz": rounded(beat.rate_hz * factor),
                "mean_s": beat.mean_s,
                "busy_pct": rounded(beat.busy_pct),
                "start": numbers(trace.begin_s + beats.offset_s, 4),
                "end": numbers(trace.end_s + beats.offset_s, 4),
                # The trace has beats per interval of its own grid; the page shows beats per second.
                "values": numbers(trace.count.middle / beats.interval_s, 3),
                "duration": numbers(trace.duration_s.middle, 9),
                "open": numbers(trace.count.progress, 1),
            }
        )
    return {"lanes": lanes, "same": beats.same, "left_out": beats.left_out}


# The ranks, as input of a page's scripts, in a compact form: there may be thousands of them.


def ranks_data(rank_map: RankMap) -> dict[str, Any]:
    """Return the groups of similar ranks, and a row for each rank of a group, or for a few of them."""
    return {
        "start": numbers(rank_map.start_s, 4),
        "end": numbers(rank_map.end_s, 4),
        "reference": rank_map.reference,
        "unread": list(rank_map.unread),
        "number": len(rank_map.result.ranks),
        "groups": [
            {
                "typical": group.typical,
                "row": _row(group.row, rank_map.agreement),
                "rows": [_row(row, rank_map.agreement) for row in group.rows] if len(group.row.ranks) > 1 else [],
            }
            for group in rank_map.groups
        ],
    }


def _row(row: RankRow, agreement: Mapping[int, float | None]) -> dict[str, Any]:
    """Return a row: its phases, and its CPU use in percent, as runs of bins."""
    agreements = [value for rank in row.ranks if (value := agreement[rank]) is not None]
    return {
        "rank": row.ranks[0],
        "name": ranges(row.ranks, 4),
        "ranks": spans(row.ranks),
        "number": len(row.ranks),
        "label": _runs(row.label),
        "busy": _runs(np.rint(100 * row.busy).astype(np.int64)),
        "agreement": round(sum(agreements) / len(agreements), 4) if agreements else None,
        **{name: round(getattr(row, name), 3) for name in ("cpu_s", "off_cpu_s", "mpi_s", "wall_s")},
        **({"damaged": True} if row.damaged else {}),
    }


def _runs(values: IntArray) -> list[int]:
    """Return values, (b,), as pairs of value and run length; or 0, 0 and all values, if that is shorter."""
    first = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    if 2 * len(first) > len(values):
        return [0, 0, *values.tolist()]
    length = np.diff(np.append(first, len(values)))
    return np.stack([values[first], length], axis=1).ravel().tolist()


# Numbers for the scripts of a page, without meaningless digits.


def numbers(values: FloatArray, digits: int) -> list[float | int | None]:
    """Return numbers rounded to that many digits after the point; NaN becomes None."""
    out: list[float | int | None] = []
    for value in np.round(values, digits).tolist():
        integer = int(value) if np.isfinite(value) else None
        out.append(integer if integer is None or integer == value else value)
    return out
