"""Parts and copies of functions, for a reader that does not know them.

Compilers make functions of their own of parallel regions, of cold code and for constant arguments: `relax._omp_fn.0`.
Stock gprof drops their symbols, and charges what lies there to the function before, which has nothing to do with it.
n symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from incprof.names import begins_inside, region_of, without_marks
from incprof.readers.stream.as_gmon import BIN_BYTES, AddressArray, GmonTotals, added_up
from incprof.readers.symbols.table import SymbolTable

# Marks that gprof takes for part of a name: of clones by the first compilers that made any, of nested functions.
KEPT = re.compile(r"(\.clone\.\d+|\.\d+)*")


def at_originals(
    totals: GmonTotals, table: SymbolTable, callers: Callable[[int], Iterable[int]] | None = None
) -> GmonTotals:
    """The same run, with what is in a part or a copy of a function at that function itself, where gprof knows it.

    Time and calls from there are the function's. So are calls of a copy; a part is called by its own function, which is
    no call in the source. Where the function was inlined everywhere, both are parts of what it was inlined into.

    Args:
        totals: of the run.
        table: symbols of the program.
        callers: addresses of the functions that call what begins at an address, nearest first.
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
        """Addresses in a part or copy become the first whole bin of the original."""
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
    """Whether gprof takes a function of this name for one."""
    bare, dot, marks = name.partition(".")
    return bool(bare) and KEPT.fullmatch(dot + marks) is not None


def _originals(name: str) -> Iterator[str]:
    """Whose part or copy this may be, the likeliest first."""
    starter = region_of(name)
    if starter is not None:
        yield starter
        name = starter
    while "." in name.lstrip("."):
        name = name[: name.rindex(".")]
        yield name
    yield without_marks(name)
