"""Samples as call stacks, for flame graph tools.

A stack is a tuple of frames, outermost first; a frame is a function index >= 0 or an index into the extra names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import (
    BROKEN,
    ELIDED,
    LIBRARY,
    PROFILER,
    UNKNOWN,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalProfile,
    module_label,
)


@dataclass(frozen=True)
class Frame:
    """A frame of a stack.

    Attributes:
        name: of the function.
        file: of the function; None if unknown.
        line: of the function; None if unknown.
    """

    name: str
    file: str | None = None
    line: int | None = None


Stack = tuple[Frame, ...]


@dataclass(frozen=True)
class StackSeries:
    """Stacks over time.

    Attributes:
        stacks: the distinct ones.
        stack: (s,) index of each sample's stack, in time order.
        thread: (s,) its thread.
        weight: (s,) ticks.
        time_s: (s,) since the start of the run.
    """

    stacks: tuple[Stack, ...]
    stack: IntArray
    thread: IntArray
    weight: FloatArray
    time_s: FloatArray


def stack_series(profile: IntervalProfile, keep: BoolArray | None = None, *, libraries: bool = True) -> StackSeries:
    """Return the samples of the intervals in `keep` (n,), all by default. Samples in the profiler are left out.

    libraries: whether to keep samples that were taken in a library.

    A profile without samples (gmon files) gives a stack of one frame for each function and interval, one after the
    other from the interval's start on.
    """
    keep = np.ones(profile.n_intervals, dtype=np.bool_) if keep is None else keep
    if not len(profile.samples.time_s):
        return _flat_series(profile, keep)
    samples = profile.samples
    use = (samples.kind != PROFILER) & keep[profile.interval_of_samples()]
    if not libraries:
        use &= samples.kind != LIBRARY
    keys = np.stack([samples.node[use], samples.kind[use], samples.library[use]])
    distinct, index = np.unique(keys, axis=1, return_inverse=True)
    names = _Namer(profile)
    stacks = tuple(names.stack(node, kind, library) for node, kind, library in distinct.T.tolist())
    return StackSeries(
        stacks,
        index.ravel().astype(np.int64),
        samples.thread[use],
        samples.weight[use].astype(np.float64),
        samples.time_s[use],
    )


def _flat_series(profile: IntervalProfile, keep: BoolArray) -> StackSeries:
    """Turn self times into stacks of one frame."""
    table = profile.self_s.tocoo()
    row, column = table.row, table.col
    use = keep[row] & (table.data > 0)
    row, column, seconds = row[use], column[use], table.data[use]
    order = np.lexsort((column, row))
    row, column, seconds = row[order], column[order], seconds[order]
    used, index = np.unique(column, return_inverse=True)
    done = np.cumsum(seconds)
    # Time before the first one of the same interval.
    earlier = (done - seconds)[np.searchsorted(row, row, side="left")] if len(row) else done
    frames = _function_frames(profile)
    return StackSeries(
        tuple((frames[c],) for c in used.tolist()),
        index.ravel().astype(np.int64),
        np.zeros(len(order), dtype=np.int64),
        seconds * profile.metadata.rate_hz,
        profile.start_s[row] + done - earlier,
    )


def _function_frames(profile: IntervalProfile) -> list[Frame]:
    """Return a frame for each function."""
    return [Frame(f.name, f.file, f.line) for f in profile.functions]


class _Namer:
    """Turns path nodes into stacks; each node's path is built once, from its parent's."""

    def __init__(self, profile: IntervalProfile):
        self.frames = _function_frames(profile)
        self.parent = profile.paths.parent.tolist()
        self.function = profile.paths.function.tolist()
        modules = profile.metadata.modules
        self.inlined = {} if profile.inlined is None else profile.inlined.by_node()
        # Samples in a linkage stub of the program itself belong to its caller.
        self.library = {m.id: () if m.app else (Frame(module_label(m.name)),) for m in modules}
        self.known: dict[int, Stack] = {0: ()}

    def stack(self, node: int, kind: int, library: int) -> Stack:
        """Return the stack of a sample; a library is its innermost frame."""
        path = self._path(node)
        if kind == LIBRARY:
            inner = self.library.get(library, (Frame("[library]"),))
            # Whole libraries may be functions already: `[libm.so.6]` of `--libs separate`.
            inner = () if path and inner and path[-1].name == inner[0].name else inner
            return (*path, *inner) or (Frame("[unknown]"),)
        return path if path and kind != UNKNOWN else (*path, Frame("[unknown]"))

    def _path(self, node: int) -> Stack:
        """Return the frames from the root to a node."""
        missing = []
        while node not in self.known:
            missing.append(node)
            node = self.parent[node]
        for child in reversed(missing):
            inner = (self._frame(function) for function in self.inlined.get(child, ()))
            self.known[child] = (*self.known[self.parent[child]], self._frame(self.function[child]), *inner)
        return self.known[missing[0]] if missing else self.known[node]

    def _frame(self, function: int) -> Frame:
        """Return a function's frame, or that of a marker."""
        if function >= 0:
            return self.frames[function]
        return {ELIDED: Frame("[...]"), BROKEN: Frame("[broken]")}.get(function, Frame("[unknown]"))
