"""Call stacks with their times as JSON, in the form of `hatchet.GraphFrame.from_literal` (docs/use/export.md)."""

from __future__ import annotations

import json
from typing import TextIO

from incprof.analysis.views.stacks import StackTree
from incprof.report.words.display_names import Names


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
        for name, exclusive, whole in zip(names, own[place], inclusive[place], strict=True):
            metrics |= {name: round(exclusive, 9), f"{name} (inc)": round(whole, 9)}
        below: list[object] = []
        kind = "library" if frame.name.startswith("[") else "function"
        nodes.append({"frame": {"name": called(frame), "type": kind}, "metrics": metrics, "children": below})
        children.append(below)
        (roots if parent < 0 else children[parent]).append(nodes[place])
    json.dump(roots, out, separators=(",", ":"), allow_nan=False)
    out.write("\n")
