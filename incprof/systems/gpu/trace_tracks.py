"""Each kernel, copy and wait of a recording with `--gpu-trace`, on a track for each stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from incprof.analysis.views.tracks import Span, SpanTrack
from incprof.readers.stream.interval_images import RecordedPaths, recorded_paths
from incprof.report.words.display_names import clean, short, where
from incprof.study.study import Study
from incprof.systems.gpu.launches import Places, functions_to, kernel_name, places_of
from incprof.systems.gpu.read import (
    COPIES,
    COPY_NAMES,
    HOST,
    KERNELS,
    OTHER_STREAMS,
    GpuActivity,
    GpuTrace,
    read_gpu,
)

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
    paths = recorded_paths(study.process.path, study.run.directory, exe=study.exe)
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
        if node in self._places:
            yield "at", where(*self._places[node])
