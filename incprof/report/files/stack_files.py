"""Stacks in the folded form of flamegraph.pl: `main;solve;dot 123`, a line per distinct stack, counts in ticks."""

from __future__ import annotations

import json
from collections import Counter
from typing import TextIO

import numpy as np

from incprof.analysis.views.stacks import Frame, StackSeries, StackTree
from incprof.model import BoolArray, FloatArray, IntArray, distinct
from incprof.report.words.display_names import Names


def write_folded(series: StackSeries, out: TextIO) -> None:
    """Write the stacks in alphabetical order."""
    names = Names(frame for stack in series.stacks for frame in stack)
    total: Counter[str] = Counter()
    for index, weight in zip(series.stack.tolist(), series.weight.tolist(), strict=True):
        total[";".join(clean(names(frame)) for frame in series.stacks[index])] += weight
    for line in sorted(total):
        if (ticks := round(total[line])) > 0:
            out.write(f"{line} {ticks}\n")


def clean(name: str) -> str:
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
