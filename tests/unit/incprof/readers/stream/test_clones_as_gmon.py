"""What lies in parts and copies of functions, as the file for stock gprof has it."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.readers.stream.as_gmon import GmonTotals, at_originals
from incprof.symbols.function_table import build_table


def of(*names: str) -> object:
    """Functions of 0x80 bytes at 0x1002, 0x1102, ..."""
    address = np.array([0x1002 + 0x100 * i for i in range(len(names))], dtype=np.uint64)
    size, limit = np.full(len(names), 0x80, dtype=np.uint64), np.full(len(names), 0x9000, dtype=np.uint64)
    return build_table(address, size, limit, [name.encode() for name in names])


def totals(bins: dict[int, int], arcs: dict[tuple[int, int], int]) -> GmonTotals:
    columns = [np.array(column, dtype=np.uint64) for column in zip(*arcs, strict=True)] or [np.empty(0, np.uint64)] * 2
    address = np.array(list(bins), dtype=np.uint64)
    return GmonTotals(
        address, np.array(list(bins.values())), *columns, np.array(list(arcs.values()), dtype=np.int64), 100
    )


def moved(names: tuple[str, ...], bins: dict[int, int], arcs: dict[tuple[int, int], int], *given) -> tuple[dict, dict]:
    found = at_originals(totals(bins, arcs), of(*names), *given)
    ends = zip(found.from_pc.tolist(), found.self_pc.tolist(), strict=True)
    time = dict(zip(found.bin_address.tolist(), found.ticks.tolist(), strict=True))
    return time, dict(zip(ends, found.count.tolist(), strict=True))


@pytest.mark.parametrize("part", ["relax._omp_fn.0", "relax.omp_outlined", "relax.cold", "relax.constprop.0._omp_fn.3"])
def test_a_part_is_its_function_and_has_no_caller(part):
    names = ("start", part, "relax", "leaf")
    time, calls = moved(names, {0x1110: 5, 0x1210: 2}, {(0, 0x1108): 7, (0x1120, 0x1308): 9, (0x1010, 0x1208): 1})
    assert time == {0x1204: 5, 0x1210: 2}
    assert calls == {(0x1204, 0x1308): 9, (0x1010, 0x1208): 1}


def test_calls_of_a_copy_are_calls():
    time, calls = moved(("start", "sum.isra.0", "sum"), {0x1110: 5}, {(0x1010, 0x1108): 7, (0x1010, 0x1204): 1})
    assert time == {0x1204: 5}
    assert calls == {(0x1010, 0x1204): 8}


@pytest.mark.parametrize("names", [("start", "sum.isra.0", "leaf"), (".omp_outlined.", "main", "nested.3"), ()])
def test_what_has_no_original_stays(names):
    given = {0x1010: 1, 0x1110: 5}, {(0, 0x1108): 7}
    assert moved(names, *given) == given


def test_of_functions_of_one_name_it_is_the_nearest():
    time, _ = moved(("sum", "a", "b", "c", "sum.cold", "sum"), {0x1410: 5}, {(0, 0x1108): 7})
    assert time == {0x1504: 5}


def test_what_was_inlined_everywhere_is_its_caller():
    """The callers of a part are tried, nearest first; one that gprof does not have either is skipped."""
    names = ("sort", "relax._omp_fn.0", "driver.isra.0", "main")
    callers = {0x1102: [0x1202, 0x1302], 0x1202: [0x1302]}
    arcs = {(0, 0x1108): 7, (0x1120, 0x1008): 9, (0x1310, 0x1208): 1}
    time, calls = moved(names, {0x1110: 5, 0x1210: 2, 0x1010: 1}, arcs, lambda address: callers.get(address, []))
    assert time == {0x1304: 7, 0x1010: 1}
    assert calls == {(0x1304, 0x1008): 9}


def test_without_callers_it_stays():
    given = {0x1010: 1, 0x1110: 5}, {(0x1008, 0x1108): 7}
    assert moved(("start", "sum.isra.0", "leaf"), *given, lambda _: []) == given
