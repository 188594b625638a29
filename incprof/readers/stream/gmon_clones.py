"""Attribute parts and clones of functions to their originals, for readers that do not support them.

Compilers create separate functions for parallel regions, cold code and constant arguments: `relax._omp_fn.0`. Stock
gprof drops their symbols, and charges their code to the preceding, unrelated function. n symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from incprof.model.names import begins_inside, region_of, without_marks
from incprof.readers.stream.as_gmon import BIN_BYTES, AddressArray, GmonTotals, added_up
from incprof.symbols.table import SymbolTable

# Marks that gprof accepts as part of a name: of clones by the earliest compilers, of nested functions.
KEPT = re.compile(r"(\.clone\.\d+|\.\d+)*")


def at_originals(
    totals: GmonTotals, table: SymbolTable, callers: Callable[[int], Iterable[int]] | None = None
) -> GmonTotals:
    """Return the same run, with parts and clones of functions attributed to their original, if gprof recognises it.

    Time and calls from there become the original's, and so do calls of a clone. Calls of a part are dropped: its own
    function calls it, which is not a call in the source. If the original was inlined everywhere, its parts belong to
    the functions that it was inlined into.

    Args:
        totals: of the run.
        table: symbols of the program.
        callers: addresses of the functions that call the code at an address, nearest first.
    """
    names = [table.name(i) for i in range(len(table))]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        if _is_known(name):
            places.setdefault(name, []).append(i)
    original, part = np.arange(len(names) + 1), np.zeros(len(names) + 1, dtype=bool)
    original[-1] = -1
    for i, name in enumerate(names):
        same = () if _is_known(name) else next((places[o] for o in _originals(name) if o in places), ())
        if same:
            original[i] = min(same, key=lambda other: abs(other - i))
            part[i] = begins_inside(name)
        elif callers is not None and not _is_known(name):
            above = table.find(np.array(list(callers(int(table.address[i]))), dtype=np.uint64))
            holder = next((int(other) for other in above if other >= 0 and _is_known(names[other])), None)
            original[i], part[i] = (i, False) if holder is None else (holder, True)
    if not np.any(original[:-1] != np.arange(len(names))):
        return totals

    def moved(address: AddressArray) -> AddressArray:
        """Map addresses in a part or clone to the first whole bin of the original."""
        owner = table.find(address)
        to = original[owner]
        first = (table.address[to] + np.uint64(BIN_BYTES - 1)) // np.uint64(BIN_BYTES) * np.uint64(BIN_BYTES)
        return np.where((owner >= 0) & (to != owner), first, address)

    (bins,), ticks = added_up([((moved(totals.bin_address),), totals.ticks)])
    counts = ~part[table.find(totals.self_pc)]
    ends = moved(totals.from_pc[counts]), moved(totals.self_pc[counts])
    (from_pc, self_pc), count = added_up([(ends, totals.count[counts])])
    return replace(totals, bin_address=bins, ticks=ticks, from_pc=from_pc, self_pc=self_pc, count=count)


def _is_known(name: str) -> bool:
    """Return whether gprof accepts this name as a function's."""
    bare, dot, marks = name.partition(".")
    return bool(bare) and KEPT.fullmatch(dot + marks) is not None


def _originals(name: str) -> Iterator[str]:
    """Yield the functions that this may be a part or clone of, the likeliest first."""
    starter = region_of(name)
    if starter is not None:
        yield starter
        name = starter
    while "." in name.lstrip("."):
        name = name[: name.rindex(".")]
        yield name
    yield without_marks(name)
