"""The hierarchy of a run as reported: from the whole run down to small parts.

s samples and waiting ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Row

import numpy as np

from incprof.analysis.phases.clustering import Stage
from incprof.analysis.phases.levels import Parts
from incprof.analysis.phases.sequence import WAITING, Sequence
from incprof.analysis.phases.tree import Node
from incprof.model import FloatArray, Function

# A smaller part of the run is left out, unless it is a phase.
LEAST = 0.01


def stages_of(
    root: Node, parts: Parts, sequence: Sequence, functions: Row[Function], phases: Mapping[int, int], start_s: float
) -> Stage:
    """Return the hierarchy of a run.

    Args:
        root: of the tree.
        parts: the level of the tree that is shown.
        sequence: its samples.
        functions: of the profile.
        phases: phase by number of part, for parts that are phases.
        start_s: start of the run.
    """
    length = np.diff(sequence.time_s, prepend=start_s)
    phase = {id(node): phases.get(at) for at, node in enumerate(parts.nodes)}
    return _stage(root, sequence, length, functions, phase, None)


def _stage(
    node: Node,
    sequence: Sequence,
    length: FloatArray,
    functions: Row[Function],
    phase: Mapping[int, int | None],
    above: int | None,
) -> Stage:
    function = _named(node, functions, above)
    seconds = float(length[node.samples].sum())
    times = sequence.time_s[node.samples]
    below = (
        _stage(child, sequence, length, functions, phase, function)
        for child in node.children
        if len(child.samples) >= LEAST * len(sequence) or phase.get(id(child)) is not None
    )
    return Stage(
        function=None if function is None else functions[function],
        start_s=float(times[0] - length[node.samples[0]]),
        end_s=float(times[-1]),
        seconds=seconds,
        app_pct=100.0 * seconds / max(float(length.sum()), 1e-9),
        episodes=1 + int(np.count_nonzero(np.diff(node.samples) > 1)),
        phase=phase.get(id(node)),
        stages=tuple(below),
    )


def _named(node: Node, functions: Row[Function], above: int | None) -> int | None:
    """Return the function that names a node: its innermost shared one of its own code, else the one with most of it."""
    own = [function for function in node.shared if not functions[function].is_library]
    if own:
        return own[-1]
    if node.shared:
        return node.shared[-1]
    share = {function: part for function, part in node.share.items() if function >= 0}
    most = max(share, key=lambda function: (share[function], -function), default=None)
    if most is not None and share[most] > sum(node.share.values()) / 2:
        return most
    return None if node.share.get(WAITING, 0.0) > 1 / 2 else above
