"""Recorded GPU work on a page; in a trace, each kernel, copy and wait of `--gpu-trace`, on a track for each stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from incprof.analysis.views.page_parts import SystemPart
from incprof.analysis.views.tracks import Span, SpanTrack
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.report.words.display_names import clean, short, where
from incprof.report.words.formatting import count, decimal_size, percent, seconds
from incprof.study.recorded_paths import Place, Places, paths_of, places_of
from incprof.study.study import Study
from incprof.systems.gpu.analyse import CopyUse, KernelUse, common_path, copy_table, kernel_table
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
    shown = table[:MOST_KERNELS]
    copies = copy_table(launched.copies)
    nodes = [use.node for use, _ in shown] + [node for _, node in copies[:MOST_KERNELS]]
    places = places_of(study, paths, nodes)
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
        functions, place = functions_to(use.node, paths), places.get(use.node)
        around = [f"within {short(name)}" for name in _within(use, by_phase, within)[-1:]]
        rows.append({
            "name": short(kernel_name(use.name)), "full": clean(kernel_name(use.name)),
            "by": short(functions[-1]) if functions else "".join(around),
            "where": where(place.file, place.line) if place else "",
            "share": round(100 * use.seconds / max(total_s, 1e-12), 1),
            "seconds": seconds(use.seconds), "count": round(use.count),
            "mean": seconds(use.seconds / max(use.count, 1)),
            "phases": [phase for phase, part_s in sorted(by_phase.items()) if part_s >= WORTH * use.seconds],
        })  # fmt: skip
    return {
        "devices": _devices(activity, float(study.profile.end_s[-1])),
        "kernels": rows,
        "more": max(len(table) - MOST_KERNELS, 0),
        "copies": [_copy(use, functions_to(node, paths), places.get(node)) for use, node in copies[:MOST_KERNELS]],
        "more_copies": max(len(copies) - MOST_KERNELS, 0),
        "time": seconds(total_s),
        "boxes": boxes,
        "height": ROW_PX * (1 + max((box["depth"] for box in boxes), default=0)),
    }


def _copy(use: CopyUse, functions: list[str], place: Place | None) -> dict[str, Any]:
    """Return a row of the table of copies."""
    return {
        "direction": use.direction, "by": short(functions[-1]) if functions else "",
        "where": where(place.file, place.line) if place else "",
        "bytes": decimal_size(use.bytes), "seconds": seconds(use.seconds), "count": round(use.count),
        "rate": f"{decimal_size(use.bytes / use.seconds)}/s" if use.seconds > 0 else "-",
    }  # fmt: skip


def _within(use: KernelUse, by_phase: dict[int, float], within: dict[int, list[str]]) -> list[str]:
    """Return what the first thread is in while a kernel of a thread without functions runs, where it runs most."""
    if use.node != 0 or not by_phase:
        return []
    return within.get(max(by_phase, key=lambda one: by_phase[one]), [])


def _devices(activity: GpuActivity, end_s: float) -> list[dict[str, Any]]:
    """Return a row for each device."""
    rows = []
    for device in sorted({*activity.busy.device.tolist()} - {HOST}):
        busy_s = float(activity.busy.seconds[activity.busy.device == device].sum())
        own = activity.streams.device == device
        sums = {
            int(stream): float(activity.streams.seconds[own & (activity.streams.what == stream)].sum())
            for stream in np.unique(activity.streams.what[own])
        }
        largest = sorted(sums, key=lambda stream: -sums[stream])
        texts = [f"{'others' if one == OTHER_STREAMS else one}: {percent(sums[one] / end_s)}" for one in largest]
        left = len(texts) - MOST_STREAMS
        share = round(100 * busy_s / end_s, 1)
        rows.append({
            "device": device, "name": clean(activity.devices.get(device, "")), "share": share,
            "seconds": seconds(busy_s),
            "streams": ", ".join(texts[:MOST_STREAMS]) + (f", {count(left, 'stream')} more" if left > 0 else ""),
        })  # fmt: skip
    return rows


def _tree(stacks: Sequence[tuple[list[str], KernelUse]]) -> _Node:
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
    details = _Details(activity, trace, paths, places)
    tracks = list[SpanTrack]()
    for device, stream in np.unique(np.stack([trace.device, trace.stream], axis=1)[order], axis=0).tolist():
        own = order[(trace.device[order] == device) & (trace.stream[order] == stream)]
        number = "" if stream == OTHER_STREAMS else f", stream {stream}"
        name = f"waiting for GPUs{number}" if device == HOST else f"GPU {device}{number}"
        for at, part in enumerate(_without_overlap(own.tolist(), trace)):
            tracks.append(SpanTrack(name + f" ({at + 1})" * (at > 0), [details.span(row) for row in part]))
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


class _Details:
    """Names and launching paths of what a trace holds, each computed once."""

    def __init__(self, activity: GpuActivity, trace: GpuTrace, paths: RecordedPaths | None, places: Places) -> None:
        self._activity, self._trace, self._paths, self._places = activity, trace, paths, places
        self._names = dict[tuple[int, int], tuple[str, str]]()
        self._launched = dict[int, dict[str, str]]()

    def span(self, row: int) -> Span:
        """Return a row as a slice."""
        trace = self._trace
        kind, what, node = (int(column[row]) for column in (trace.kind, trace.what, trace.node))
        if (kind, what) not in self._names:
            self._names[kind, what] = self._name(kind, what)
        if node not in self._launched:
            self._launched[node] = dict(self._launch(node))
        name, category = self._names[kind, what]
        details: dict[str, object] = {}
        if kind in (KERNELS, COPIES):
            details |= {"device": int(trace.device[row]), "stream": int(trace.stream[row])}
        if kind == KERNELS:
            details["kernel"] = clean(kernel_name(self._activity.names.get(what, "")))
        if kind == COPIES:
            details["bytes"] = int(trace.bytes[row])
        details |= self._launched[node]
        return Span(name, category, float(trace.start_s[row]), float(trace.seconds[row]), details)

    def _name(self, kind: int, what: int) -> tuple[str, str]:
        """Return name and category."""
        if kind == KERNELS:
            return short(kernel_name(self._activity.names.get(what, ""))), "kernel"
        if kind == COPIES:
            direction = COPY_NAMES.get(what, "other")
            word = DIRECTIONS.get(direction)
            copy = f"Memcpy {word}" if word else direction.capitalize()
            return copy, "gpu_memset" if what == 0 else "gpu_memcpy"
        return "wait", "gpu_wait"

    def _launch(self, node: int) -> Iterator[tuple[str, str]]:
        functions = functions_to(node, self._paths) if node > 0 else []
        if functions:
            yield "launched by", " > ".join(short(clean(each)) for each in functions)
        if place := self._places.get(node):
            yield "at", where(place.file, place.line)
