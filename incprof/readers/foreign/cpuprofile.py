"""V8's .cpuprofile: `node --cpu-prof`, Chrome's and Deno's."""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from incprof.errors import NoDataError
from incprof.readers.foreign.files import document, understood
from incprof.readers.foreign.interpreted import qualified
from incprof.readers.foreign.spans import LEAST_S, MOST_S
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

US = 1e-6
# V8's own: nothing runs, native code, and its garbage collector.
ROOT, IDLE, PROGRAM, COLLECTOR = "(root)", "(idle)", "(program)", "(garbage collector)"
FILE = "file://"


def read_cpuprofile(path: str) -> Imported:
    """Make a timeline of a file.

    Raises: NoDataError when it is none.
    """
    return understood(path, "CPU profile of V8", lambda: _imported(document(path), path))


def _imported(found: dict[str, Any], path: str) -> Imported:
    nodes = {node["id"]: node for node in found["nodes"]}
    above = {child: node["id"] for node in found["nodes"] for child in node.get("children") or ()}
    above |= {node["id"]: node["parent"] for node in found["nodes"] if "parent" in node}
    stacks = {number: _stack(number, nodes, above) for number in nodes}
    times, now = list[tuple[float, Any]](), 0
    for number, delta in zip(found["samples"], found["timeDeltas"], strict=True):
        now += int(delta)
        times.append((now * US, number))
    times.sort(key=lambda sample: sample[0])  # V8 takes them on several threads
    lasted = sorted(b[0] - a[0] for a, b in pairwise(times))
    tick = min(max(lasted[len(lasted) // 2], LEAST_S), MOST_S) if lasted else LEAST_S
    timeline = Timeline(_script(stacks.values()), Paths(), tick)
    before = 0.0
    for time, number in times:
        if nodes[number]["callFrame"]["functionName"] != IDLE and time > before:
            timeline.add(stacks[number], time, time - before, wall_s=time - before)
        before = time
    if not len(timeline):
        raise NoDataError(f"{path}: no sample in it at which anything ran")
    return Imported("cpuprofile", [timeline])


def _stack(number: Any, nodes: dict[Any, Any], above: dict[Any, Any]) -> tuple[Frame, ...]:
    """The frames of a node, outermost first."""
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
    if not name:  # the outermost code of a file has no name either
        name = f"(anonymous {PurePosixPath(file).name}:{line})"
    shared = not file or url.startswith("node:")
    return Frame("[v8]" if shared else "", name, file, max(line, 0), own, max(line, 0), shared)


def _script(stacks: Any) -> str:
    """The file that most stacks begin in."""
    count: dict[str, int] = {}
    for stack in stacks:
        first = next((frame.file for frame in stack if not frame.shared), None)
        if first:
            count[first] = count.get(first, 0) + 1
    return PurePosixPath(max(sorted(count), key=lambda file: count[file])).name if count else "app"
