"""Functions whose names nobody can read, as those of functions that called them and have a name.

Vendors' static libraries hide their functions behind hashes, `libcudart_static_` and 40 digits: what they do is done by
the exported function that the program called, such as `cudaDeviceSynchronize`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from incprof.model import LIBRARY, OWN, IntervalProfile
from incprof.names import without_marks
from incprof.readers.stream.moved_time import moved

HASHED = re.compile(r"\w*_(?=[a-f]*[0-9])[0-9a-f]{32,64}")


def is_unreadable(mangled: str) -> bool:
    """Whether a function is called by a hash."""
    return HASHED.fullmatch(without_marks(mangled)) is not None


def with_unreadable_grouped(profile: IntervalProfile) -> IntervalProfile:
    """The profile with such functions as their nearest callers of the same module; those without one stay."""
    hidden = [is_unreadable(function.mangled) for function in profile.functions]
    if not any(hidden):
        return profile
    paths, label = profile.paths, [function.module for function in profile.functions]
    parent, function = paths.parent.tolist(), paths.function.tolist()
    for node, own in enumerate(function):
        caller = function[parent[node]]
        # A parent comes before its children: it has its caller's name already.
        if own >= 0 and hidden[own] and caller >= 0 and not hidden[caller] and label[caller] == label[own]:
            function[node] = caller
    grouped = np.array(function, dtype=paths.function.dtype)
    samples = profile.samples
    sample = np.flatnonzero(np.isin(samples.kind, (OWN, LIBRARY)) & (grouped != paths.function)[samples.node])
    self_s = moved(profile, profile.self_s, sample, grouped[samples.node[sample]].astype(np.int64))
    return replace(profile, self_s=self_s, paths=replace(paths, function=grouped))
