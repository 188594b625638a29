"""Recorded GPU work on a page; in a trace, each kernel, copy and wait of `--gpu-trace`, on a track for each stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from incprof.analysis.views.page_parts import SystemPart
from incprof.analysis.views.tracks import Span, SpanTrack
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.words.display_names import clean, short, where
from incprof.report.words.formatting import count, decimal_size, percent, seconds
from incprof.study.recorded_paths import Places, paths_of, places_of
from incprof.study.study import Study
from incprof.systems.gpu.analyse import Use, common_path, copy_table, kernel_table, seconds_by_lane
from incprof.systems.gpu.launches import functions_to, kernel_name, launched_by_program
from incprof.systems.gpu.read import (
    COPIES,
    COPY_NAMES,
    HOST,
    KERNELS,
    OTHER_STREAMS,
    RECORDED,
    GpuActivity,
    GpuTrace,
    read_gpu,
)

TEMPLATE = "gpu.html.j2"
MOST_KERNELS, MOST_STREAMS = 25, 8
# Smaller shares of the kernels' time are not drawn, and of a kernel's time name no phase.
DRAWN, WORTH = 0.003, 0.05
MOST_DEPTH, ROW_PX = 40, 17
UNKNOWN = "unknown path"


@dataclass
class _Node:
    """A function on launching paths, or a kernel below them."""

    seconds: float = 0.0
    kernel: bool = False
    below: dict[tuple[str, bool], _Node] = field(default_factory=dict)


def page_parts(study: Study) -> tuple[SystemPart, ...]:
    """Return the page's part on GPUs; none if no kernel was recorded."""
    if study.process.series:
        return ()
    activity = read_gpu(study.process.path)
    if activity is None or activity.state != RECORDED or not len(activity.kernels.count):
        return ()
    template = files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8")
    return (SystemPart(TEMPLATE, template, _words(study, activity)),)


def _words(study: Study, activity: GpuActivity) -> dict[str, Any]:
    paths = paths_of(study)
    launched = launched_by_program(study, activity, paths)
    table = kernel_table(launched, study.profile, study.phases())
    shown, copies = table[:MOST_KERNELS], copy_table(launched.copies)
    places = places_of(study, paths, [use.node for use in (*(use for use, _ in shown), *copies[:MOST_KERNELS])])
    total_s = sum(use.seconds for use, _ in table)
    within = {
        phase: list(common_path(study.profile, study.phases(), phase))
        for phase in {max(part, key=lambda one: part[one]) for use, part in table if use.node == 0 and part}
    }
    # With all functions of the launching paths, also of packages.
    whole = kernel_table(activity, study.profile, study.phases())
    stacks = [(functions_to(use.node, paths) or _within(use, part, within), use) for use, part in whole]
    boxes = list(_boxes(_tree(stacks), total_s))
    rows = []
    for use, by_phase in shown:
        around = [f"within {short(name)}" for name in _within(use, by_phase, within)[-1:]]
        rows.append({
            **_row(use, paths, places, "".join(around)),
            "name": short(kernel_name(use.name)), "full": clean(kernel_name(use.name)),
            "share": round(100 * use.seconds / max(total_s, 1e-12), 1),
            "mean": seconds(use.seconds / max(use.count, 1)),
            "phases": [phase for phase, part_s in sorted(by_phase.items()) if part_s >= WORTH * use.seconds],
        })  # fmt: skip
    return {
        "devices": _devices(activity, float(study.profile.end_s[-1])),
        "kernels": rows,
        "more": max(len(table) - MOST_KERNELS, 0),
        "copies": [_copy(use, paths, places) for use in copies[:MOST_KERNELS]],
        "more_copies": max(len(copies) - MOST_KERNELS, 0),
        "time": seconds(total_s),
        "boxes": boxes,
        "height": ROW_PX * (1 + max((box["depth"] for box in boxes), default=0)),
    }


def _row(use: Use, paths: RecordedPaths | None, places: Places, around: str = "") -> dict[str, Any]:
    """Return what the rows of kernels and copies have in common. around: instead of an unknown path."""
    functions, place = functions_to(use.node, paths), places.get(use.node)
    return {
        "by": short(functions[-1]) if functions else around, "where": where(place.file, place.line) if place else "",
        "seconds": seconds(use.seconds), "count": round(use.count),
    }  # fmt: skip


def _copy(use: Use, paths: RecordedPaths | None, places: Places) -> dict[str, Any]:
    """Return a row of the table of copies."""
    rate = f"{decimal_size(use.bytes / use.seconds)}/s" if use.seconds > 0 else "-"
    return {**_row(use, paths, places), "direction": use.name, "bytes": decimal_size(use.bytes), "rate": rate}


def _within(use: Use, by_phase: dict[int, float], within: dict[int, list[str]]) -> list[str]:
    """Return what the first thread is in while a kernel of a thread without functions runs, where it runs most."""
    if use.node != 0 or not by_phase:
        return []
    return within.get(max(by_phase, key=lambda one: by_phase[one]), [])


def _devices(activity: GpuActivity, end_s: float) -> list[dict[str, Any]]:
    """Return a row for each device."""
    rows, by_stream = [], seconds_by_lane(activity.streams)
    for (device, _), busy_s in seconds_by_lane(activity.busy).items():
        if device == HOST:
            continue
        sums = {stream: stream_s for (its, stream), stream_s in by_stream.items() if its == device}
        largest = sorted(sums, key=lambda stream: -sums[stream])
        texts = [f"{'others' if one == OTHER_STREAMS else one}: {percent(sums[one] / end_s)}" for one in largest]
        left = len(texts) - MOST_STREAMS
        rows.append({
            "device": device, "name": clean(activity.devices.get(device, "")), "share": round(100 * busy_s / end_s, 1),
            "seconds": seconds(busy_s),
            "streams": ", ".join(texts[:MOST_STREAMS]) + (f", {count(left, 'stream')} more" if left > 0 else ""),
        })  # fmt: skip
    return rows


def _tree(stacks: Sequence[tuple[list[str], Use]]) -> _Node:
    """Return kernels below the functions that launch them."""
    root = _Node()
    for functions, use in stacks:
        node = root
        node.seconds += use.seconds
        frames = [*((name, False) for name in functions[-MOST_DEPTH:] or [UNKNOWN]),
                  (kernel_name(use.name), True)]  # fmt: skip
        for frame in frames:
            node = node.below.setdefault(frame, _Node(kernel=frame[1]))
            node.seconds += use.seconds
    return root


def _boxes(root: _Node, total_s: float) -> Iterator[dict[str, Any]]:
    """Yield the boxes of the drawing, in percent of its width; callers above what they call."""
    pending = [(root, 0, 0.0)]
    while pending:
        node, depth, left = pending.pop()
        for (name, _), below in sorted(node.below.items(), key=lambda item: (-item[1].seconds, item[0])):
            share = below.seconds / max(total_s, 1e-12)
            if share < DRAWN:
                continue
            yield {
                "x": round(100 * left, 3), "width": round(100 * share, 3), "y": depth * ROW_PX, "depth": depth,
                "name": name if name == UNKNOWN else short(name), "kernel": below.kernel,
                "said": f"{clean(name)}: {seconds(below.seconds)}, {percent(share)} of the kernels' time",
            }  # fmt: skip
            pending.append((below, depth + 1, left))
            left += share


# Names of copies as PyTorch's profiler writes them, so that `incprof import` reads them.
DIRECTIONS = {
    "host to device": "HtoD", "device to host": "DtoH", "within the device": "DtoD", "within the host": "HtoH",
    "between devices": "PtoP",
}  # fmt: skip


def gpu_tracks(study: Study, most: int) -> tuple[SpanTrack, ...]:
    """Return a track for each stream, and for waits; none without a trace.

    most: so many kernels, copies and waits at most, the longest.
    """
    activity = None if study.process.series else read_gpu(study.process.path, traced=True)
    if activity is None or activity.trace is None:
        return ()
    trace, missing = activity.trace, activity.trace.left_out
    order = np.argsort(-trace.seconds, kind="stable")[:most]
    order = order[np.argsort(trace.start_s[order], kind="stable")]
    paths = paths_of(study)
    places = places_of(study, paths, set(trace.node[order].tolist()))
    warnings = [f"the GPU trace was full: {missing} kernels, copies and waits are not in it"] if missing else []
    if len(order) < len(trace.start_s):
        warnings.append(f"the longest {most} of {len(trace.start_s)} kernels, copies and waits of GPUs are written")
    study.listener.warn(warnings)
    span = _span_of(activity, trace, paths, places)
    tracks = list[SpanTrack]()
    for device, stream in np.unique(np.stack([trace.device, trace.stream], axis=1)[order], axis=0).tolist():
        own = order[(trace.device[order] == device) & (trace.stream[order] == stream)]
        number = "" if stream == OTHER_STREAMS else f", stream {stream}"
        name = f"waiting for GPUs{number}" if device == HOST else f"GPU {device}{number}"
        for at, part in enumerate(_without_overlap(own.tolist(), trace)):
            tracks.append(SpanTrack(name + f" ({at + 1})" * (at > 0), [span(row) for row in part]))
    return tuple(tracks)


def _without_overlap(rows: list[int], trace: GpuTrace) -> list[list[int]]:
    """Divide rows in order of their starts, so that none of a part overlap."""
    parts, ends = list[list[int]](), list[float]()
    for row in rows:
        start_s = float(trace.start_s[row])
        at = next((at for at, end_s in enumerate(ends) if end_s <= start_s), len(ends))
        if at == len(ends):
            parts.append([])
            ends.append(0.0)
        parts[at].append(row)
        ends[at] = start_s + float(trace.seconds[row])
    return parts


def _span_of(
    activity: GpuActivity, trace: GpuTrace, paths: RecordedPaths | None, places: Places
) -> Callable[[int], Span]:
    """Return a function that returns a row as a slice. Names and launching paths are computed once."""

    @cache
    def named(kind: int, what: int) -> tuple[str, str, dict[str, object]]:
        if kind == KERNELS:
            name = kernel_name(activity.names.get(what, ""))
            return short(name), "kernel", {"kernel": clean(name)}
        if kind != COPIES:
            return "wait", "gpu_wait", {}
        direction = COPY_NAMES.get(what, "other")
        name = f"Memcpy {DIRECTIONS[direction]}" if direction in DIRECTIONS else direction.capitalize()
        return name, "gpu_memset" if what == 0 else "gpu_memcpy", {}

    @cache
    def launched(node: int) -> dict[str, object]:
        functions, place = functions_to(node, paths) if node > 0 else [], places.get(node)
        by = {"launched by": " > ".join(short(clean(each)) for each in functions)} if functions else {}
        return {**by, "at": where(place.file, place.line)} if place else {**by}

    def span(row: int) -> Span:
        kind, what, node = (int(column[row]) for column in (trace.kind, trace.what, trace.node))
        name, category, details = named(kind, what)
        if kind in (KERNELS, COPIES):
            details = {"device": int(trace.device[row]), "stream": int(trace.stream[row]), **details}
        if kind == COPIES:
            details["bytes"] = int(trace.bytes[row])
        return Span(name, category, float(trace.start_s[row]), float(trace.seconds[row]), details | launched(node))

    return span
