"""Profiles of drawn programs: inlining, recursion, several callers, loops, libraries, modules that are not there.

A function has code: places, each an address in a loop or outside, with the functions that are inlined there. A path is
a walk over such places, so that everything which depends on an address alone is the same wherever it is met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
from scipy.sparse import csr_array

from incprof.model import (
    BROKEN,
    ELIDED,
    LIBRARY,
    OUTSIDE_LOOPS,
    OWN,
    PROFILER,
    ROOT,
    UNKNOWN,
    UNKNOWN_CODE,
    Arcs,
    Code,
    CodeLoops,
    Counters,
    Function,
    Inlined,
    IntervalProfile,
    Metadata,
    Module,
    PathTree,
    Samples,
)

MODULES = (
    Module(0, "/nowhere/app", None, 0x1000, 0x100000, app=True, counts=False),
    Module(1, "/nowhere/libplugin.so", None, 0x1000, 0x100000, app=True, counts=False),
    Module(2, "/nowhere/script.py", None, 0, 64, app=True, counts=False, code=Code("step", 3, 0x30B, b"")),
    Module(7, "/lib/libm.so.6", None, 0x1000, 0x100000, app=False),
    Module(8, "/lib/libz.so.1", None, 0x1000, 0x100000, app=False),
)


@dataclass(frozen=True)
class Place:
    """An address in a function: its loop, the functions inlined there, whether each iteration runs it."""

    address: int
    loop: int
    inlined: tuple[int, ...]
    always: bool


@dataclass(frozen=True)
class Program:
    """Functions, the places of each, and the loop around each loop."""

    functions: tuple[Function, ...]
    places: tuple[tuple[Place, ...], ...]
    around: tuple[int, ...]


def program(draw: Random) -> Program:
    """Draw a program."""
    count = draw.randint(1, 8)
    functions = tuple(_function(draw, index) for index in range(count))
    around, places = [0], []
    for index in range(count):
        loops = [OUTSIDE_LOOPS, UNKNOWN_CODE]
        for _ in range(draw.randint(0, 3)):
            loops.append(len(around))
            around.append(draw.choice([0, *loops[2:-1]]))
        places.append(tuple(_place(draw, 4096 + 64 * index + 4 * i, loops, count) for i in range(draw.randint(1, 4))))
    return Program(functions, tuple(places), tuple(around))


def _function(draw: Random, index: int) -> Function:
    """A function of the program, of a library, of a header, of an interpreted file, or of a module without symbols."""
    plain = Function("app", f"f{index}", f"f{index}", 4096 + 64 * index, "app.c", 10 * index + 1)
    return draw.choice([
        plain, plain, plain,
        replace(plain, imported=True, module="libm.so.6"),
        replace(plain, system=True, mangled=f"_ZSt4sort{index}"),
        replace(plain, name="[unknown in libplugin.so]", module="libplugin.so", file=None, line=None, address=0),
        replace(plain, name="[libz.so.1]", module="libz.so.1", imported=True, file=None, line=None),
        replace(plain, module="script.py", address=0, code=Code(f"f{index}", 3, 0x30B, b""), file="script.py"),
    ])  # fmt: skip


def _place(draw: Random, address: int, loops: list[int], functions: int) -> Place:
    inlined = tuple(draw.randrange(functions) for _ in range(draw.choice([0, 0, 1, 2])))
    return Place(address, draw.choice(loops), inlined, draw.random() < 0.5)


def profile(draw: Random) -> IntervalProfile:
    """Draw a run of a drawn program, as the readers give it where no calls are counted; at times where they are."""
    made = program(draw)
    n, rate = draw.randint(1, 14), draw.choice([100.0, 1000.0])
    interval_s = draw.choice([0.05, 0.25, 1.0])
    paths, places = _paths(draw, made)
    samples = _samples(draw, len(paths.parent), n * interval_s, rate)
    end = interval_s * np.arange(1, n + 1)
    row = np.minimum((samples.time_s / interval_s).astype(np.int64), n - 1)
    leaf = paths.function[samples.node]
    use = (samples.kind != PROFILER) & (leaf >= 0)
    shape = (n, len(made.functions))
    own = csr_array((samples.weight[use] / rate, (row[use], leaf[use])), shape=shape)
    own.sum_duplicates()
    counted = draw.random() < 0.2
    arcs, calls = _calls(draw, shape) if counted else _calls(draw, shape, 0)
    busy = np.bincount(row, weights=samples.weight, minlength=n) / rate
    zero, none = np.zeros(n), np.zeros(n, dtype=np.int64)
    wall = np.maximum(busy, interval_s)
    taken = np.bincount(row[samples.weight > 0], minlength=n)
    counters = Counters(busy, wall, zero, zero, zero, taken, none, none, none + 1, none, none, zero, zero)
    modules = () if counted else MODULES
    return IntervalProfile(
        Metadata("app", None, 0, 1, interval_s, rate, modules, ordered=draw.random() < 0.9),
        end - interval_s, end, made.functions, own, calls, arcs, paths, samples, counters,
        inlined=None if draw.random() < 0.1 else _inlined(places, paths),
        code_loops=None if counted or draw.random() < 0.1 else _loops(places, made),
    )  # fmt: skip


def _paths(draw: Random, made: Program) -> tuple[PathTree, list[Place]]:
    """Draw walks: any function calls any, itself among them."""
    nowhere = Place(0, UNKNOWN_CODE, (), False)
    parent, function, places = [0], [ROOT], [nowhere]
    known: dict[tuple[int, int, int], int] = {}
    for _ in range(draw.randint(1, 12)):
        node = 0
        for depth in range(draw.randint(1, 6)):
            lost = draw.random() < 0.05
            what = draw.choice([ELIDED, BROKEN]) if lost else draw.randrange(len(made.functions))
            if depth and draw.random() < 0.2:
                what = function[node]
            place = nowhere if what < 0 else draw.choice(made.places[what])
            key = (node, what, place.address)
            if key not in known:
                known[key] = len(parent)
                parent.append(node)
                function.append(what)
                places.append(place)
            node = known[key]
    address = np.array([place.address for place in places])
    return PathTree(np.array(parent), np.array(function), address), places


def _samples(draw: Random, nodes: int, seconds: float, rate: float) -> Samples:
    """Draw samples of up to three threads, some of them looks a millisecond apart."""
    rows: list[tuple[float, int, int, int, int, int]] = []
    for thread in range(draw.randint(1, 3)):
        time = draw.uniform(0, 2 / rate)
        favourites = [draw.randrange(nodes) for _ in range(3)]
        while time < seconds and len(rows) < 1500:
            if draw.random() < 0.02:
                favourites = [draw.randrange(nodes) for _ in range(3)]
            kind = draw.choices([OWN, LIBRARY, PROFILER, UNKNOWN], [20, 4, 1, 1])[0]
            library = draw.choice([7, 8]) if kind == LIBRARY else -1
            rows.append((time, thread, draw.choice(favourites), kind, draw.choice([1, 1, 1, 2]), library))
            if draw.random() < 0.05:
                looks = (time + 0.001 * i for i in range(1, 8))
                rows += [(at, thread, draw.choice(favourites), PROFILER, 0, -1) for at in looks if at < seconds]
            time += draw.choice([1 / rate, 1 / rate, 2 / rate, 0.2 * seconds])
    rows.sort()
    table = [np.array(column, dtype=np.int64) for column in list(zip(*rows, strict=True))[1:]] if rows else []
    time_s = np.array([row[0] for row in rows])
    return Samples(time_s, *(table or [np.zeros(0, dtype=np.int64)] * 5))


def _calls(draw: Random, shape: tuple[int, int], most: int = 12) -> tuple[Arcs, csr_array]:
    """Draw counted calls between functions."""
    found = {}
    for _ in range(most):
        key = (draw.randrange(shape[0]), draw.randrange(-1, shape[1]), draw.randrange(shape[1]))
        found[key] = draw.choice([1, 7, 100000])
    rows = np.array([(*key, found[key]) for key in sorted(found)], dtype=np.int64).reshape(-1, 4)
    calls = csr_array((rows[:, 3], (rows[:, 0], rows[:, 2])), shape=shape)
    calls.sum_duplicates()
    return Arcs(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3]), calls


def _inlined(places: list[Place], paths: PathTree) -> Inlined:
    known = [place.inlined for place in places]
    first = np.concatenate([[0], np.cumsum([len(each) for each in known])]).astype(np.int64)
    return Inlined(first, np.array([index for each in known for index in each], dtype=np.int64), {})


def _loops(places: list[Place], made: Program) -> CodeLoops:
    at = np.array([place.loop for place in places], dtype=np.int64)
    return CodeLoops(at, np.array(made.around, dtype=np.int64), np.array([place.always for place in places]))
