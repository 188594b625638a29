"""V8's .cpuprofile: `node --cpu-prof`, Chrome's and Deno's; also in the pieces that a trace contains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.readers.foreign.distances import usual_distance
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.interpreted import qualified
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

US = 1e-6
DEFAULT_S = 1e-3
# V8's own frames: idle, native code, and its garbage collector.
ROOT, IDLE, PROGRAM, COLLECTOR = "(root)", "(idle)", "(program)", "(garbage collector)"
FILE = "file://"


def read_cpuprofile(path: str) -> Imported:
    """Read a file as a timeline.

    Raises: NoDataError if it is not such a profile.
    """
    return understood(path, "CPU profile of V8", lambda: _imported(document(path), path))


def _imported(found: dict[str, Any], path: str) -> Imported:
    if "head" in found:
        found = {**found, "nodes": _flat(found["head"])}
    timeline = Timeline("", Paths(), DEFAULT_S)
    timeline.tick_s = add_profile(timeline, found, _times(found), 0)
    timeline.app = script_of(timeline.paths)
    if not len(timeline):
        raise NoDataError(f"{path}: no sample in it at which anything ran")
    return Imported("cpuprofile", [timeline])


def add_profile(timeline: Timeline, found: dict[str, Any], times: Sequence[float], thread: int) -> float:
    """Add the samples of a profile, taken at the given times, seconds; return the typical time of a sample.

    Each sample stands for the time since the one before it. The time before the first is unknown.
    """
    nodes = {node["id"]: node for node in found["nodes"]}
    above = {child: node["id"] for node in found["nodes"] for child in node.get("children") or ()}
    above |= {node["id"]: node["parent"] for node in found["nodes"] if "parent" in node}
    stacks = {number: _stack(number, nodes, above) for number in nodes}
    # V8 may record several threads.
    samples = sorted(zip(times, found["samples"], strict=True), key=lambda sample: sample[0])
    tick = usual_distance(np.array([time for time, _ in samples]), np.zeros(len(samples), dtype=np.int64), DEFAULT_S)
    before = samples[0][0] - tick if samples else 0.0
    for time, number in samples:
        if nodes[number]["callFrame"]["functionName"] != IDLE and time > before:
            timeline.add(stacks[number], time, time - before, wall_s=time - before, thread=thread)
        before = time
    return tick


def times_of(deltas: Sequence[Any], start: float) -> list[float]:
    """Return the times of samples, seconds: each so many microseconds after the one before, the first after `start`."""
    return (np.cumsum([start, *map(float, deltas)])[1:] * US).tolist()  # type: ignore[no-any-return]


def _times(found: dict[str, Any]) -> list[float]:
    """Return the times of samples, seconds. Without recorded times, samples are spread evenly."""
    if "timeDeltas" in found:
        return times_of(found["timeDeltas"], 0.0)
    if "timestamps" in found:
        return [(float(time) - float(found["timestamps"][0])) * US for time in found["timestamps"]]
    lasted, many = float(found["endTime"]) - float(found["startTime"]), len(found["samples"])
    # Older profiles give their start and end in seconds.
    return np.linspace(0.0, lasted * (1.0 if lasted < many else US), many + 1)[1:].tolist()  # type: ignore[no-any-return]


def _flat(head: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the nodes of a tree, as V8 wrote it up to 2015: each node contains its children and its function."""
    found, left = list[dict[str, Any]](), [head]
    while left:
        node = left.pop()
        left += node["children"]
        found.append({"id": node["id"], "callFrame": node, "children": [child["id"] for child in node["children"]]})
    return found


def _stack(number: Any, nodes: dict[Any, Any], above: dict[Any, Any]) -> tuple[Frame, ...]:
    """Return the frames of a node, outermost first."""
    frames: list[Frame] = []
    seen = 0
    while number is not None:
        frame = _frame(nodes[number]["callFrame"])
        if frame:
            frames.append(frame)
        number = above.get(number)
        if (seen := seen + 1) > len(nodes):
            raise ValueError("nodes in a circle")
    return tuple(reversed(frames))


def _frame(called: dict[str, Any]) -> Frame | None:
    name, url, line = (
        qualified(str(called["functionName"])),
        str(called.get("url") or ""),
        int(called.get("lineNumber", -1)) + 1,
    )
    if name in (ROOT, IDLE, PROGRAM):
        return None
    if name == COLLECTOR:
        return Frame("[v8]", name, shared=True)
    file = url.removeprefix(FILE)
    own = f"{file}:{line}:{called.get('columnNumber', 0)}"
    if not name:  # the outermost code of a file is unnamed too
        name = f"(anonymous {PurePosixPath(file).name}:{line})"
    # Code generated at run time has a script in place of a file.
    shared = url.startswith("node:") or not (file or int(called.get("scriptId") or 0))
    return Frame("[v8]" if shared else "", name, file, max(line, 0), own, max(line, 0), shared)


def script_of(paths: Paths) -> str:
    """Return the file in which most paths begin."""
    count: dict[str, int] = {}
    outermost = [0] * len(paths.parent)
    for node, parent in enumerate(paths.parent):
        outermost[node] = outermost[parent] or node
        if node and (file := paths.frames[paths.frame[outermost[node]]].file):
            count[file] = count.get(file, 0) + 1
    return PurePosixPath(max(sorted(count), key=lambda file: count[file])).name if count else "app"
