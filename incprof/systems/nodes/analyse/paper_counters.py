"""Counters of Table 1 of the paper, in the order of its rows: letters number them from 0."""

from __future__ import annotations

from collections.abc import Sequence

TABLE1 = (
    "cycles", "instructions", "cache-references", "stalled-cycles-frontend", "cache-misses", "bus-cycles", "branches",
    "branch-misses", "net-tx-bytes", "net-tx-packets", "net-rx-bytes", "net-rx-packets",
    "disk-write-bytes", "disk-read-bytes",
)  # fmt: skip
# Those of them counted by the processor; the kernel counts the others.
OF_PROCESSOR = frozenset(TABLE1[:8])
# Memory held by a program, or by all programs: levels, not rates.
HELD = ("rss-bytes", "memory-bytes")
# Counters that others contain already, in another unit or in parts: they would count twice.
TWINS = {"task-clock": {"cpu"}, "user": {"cpu", "system"}, "minor-faults": {"page-faults"}}
# A letter has four bits for each counter.
MOST = 16


def number_of(names: Sequence[str]) -> list[int | None]:
    """Return the number of each counter, from 0 to 15; None for those beyond 16.

    Counters of Table 1 have their row number. Others take 14 and 15, then the numbers of missing counters of Table 1.
    """
    taken = {name: TABLE1.index(name) for name in names if name in TABLE1}
    free = [14, 15, *(at for at in range(14) if at not in taken.values())]
    for name in names:
        if name not in taken and free:
            taken[name] = free.pop(0)
    return [taken.get(name) for name in names]
