"""Decoded parts of a stream put together again, and cut down to what they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from incprof.model import Arcs, Counters, PathTree, Samples, distinct
from incprof.readers.calls import CallTable
from incprof.readers.profile_builder import Parts, SelfTime
from incprof.readers.stream.paths import extended


def joined(parts: Sequence[Parts], tree: PathTree) -> Parts:
    """Parts that follow each other (at least one) as one, with the tree that all of their samples lie in.

    Nothing is shared that building a profile changes.
    """
    lengths = [len(part.end_s) for part in parts]
    firsts = (np.cumsum(lengths) - lengths).tolist()
    calls = CallTable()
    self_time: list[SelfTime] = []
    for part, first in zip(parts, firsts, strict=True):
        arcs = part.calls.arcs()
        calls.add(Arcs(arcs.interval + first, arcs.caller, arcs.callee, arcs.count))
        self_time += [SelfTime(time.interval + first, time.function, time.seconds) for time in part.self_time]
    samples = Samples(*(np.concatenate([getattr(p.samples, f.name) for p in parts]) for f in fields(Samples)))
    return replace(
        parts[-1],
        start_s=np.concatenate([part.start_s for part in parts]),
        end_s=np.concatenate([part.end_s for part in parts]),
        counters=Counters(*(np.concatenate([getattr(p.counters, f.name) for p in parts]) for f in fields(Counters))),
        self_time=self_time,
        calls=calls,
        paths=extended(tree, int(samples.node.max(initial=0)) + 1),
        samples=samples,
    )


def pruned(parts: Parts) -> Parts:
    """The same with those nodes of the tree only that lie on the path of a sample."""
    tree, samples = parts.paths, parts.samples
    used = np.zeros(len(tree.parent), dtype=bool)
    used[0] = True
    front = distinct(samples.node)
    while len(front := front[~used[front]]):
        used[front] = True
        front = distinct(tree.parent[front])
    place = np.cumsum(used) - 1
    smaller = PathTree(place[tree.parent[used]], tree.function[used], tree.address[used])
    return replace(parts, paths=smaller, samples=replace(samples, node=place[samples.node].astype(np.int32)))
