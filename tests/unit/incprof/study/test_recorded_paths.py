"""Places at which call paths make their calls."""

from __future__ import annotations

import numpy as np

from incprof.model import Function, PathTree
from incprof.readers.stream.interval_images import RecordedPaths
from incprof.study.recorded_paths import Place, _without_headers, names_at
from incprof.symbols.addr2line import Frame

LOCK = Frame("_ZNSt5mutex4lockEv", "/usr/include/c++/12/bits/std_mutex.h", 100)
USER = Frame("update", "/home/me/solver.cpp", 17)
CALLER = Frame("step", "/home/me/solver.cpp", 40)


def test_functions_of_headers_give_way_to_the_one_that_called_them() -> None:
    assert _without_headers((LOCK, LOCK, USER, CALLER)) == (USER, CALLER)
    assert _without_headers((USER, LOCK, CALLER)) == (USER, LOCK, CALLER)


def test_a_chain_of_headers_alone_is_kept() -> None:
    assert _without_headers((LOCK,)) == (LOCK,)
    assert _without_headers(()) == ()


def test_names_have_the_inlined_functions_of_each_node() -> None:
    functions = (Function("app", "main", "main", 0), Function("lib", "step", "step", 0, system=True))
    tree = PathTree(np.array([-1, 0, 1]), np.array([-1, 0, 1]), np.zeros(3, dtype=np.int64))
    paths = RecordedPaths(tree, np.zeros(3, dtype=np.int64), functions, {}, np.zeros(0, dtype=np.int64))
    places = {2: Place("a.cpp", 7, ("update", "grow")), 1: Place("a.cpp", 20, ("loop",))}
    assert names_at(paths, places, 2) == (["grow", "update", "step", "loop", "main"], 3)
    assert names_at(paths, {}, 2) == (["step", "main"], 1)
    assert names_at(paths, {}, 0) == ([], None)


def test_a_recursive_call_replaces_the_outer_one() -> None:
    functions = (Function("app", "main", "main", 0), Function("app", "walk", "walk", 0), Function("app", "at", "at", 0))
    # main, walk, at, walk with an elided part, at
    tree = PathTree(np.array([-1, 0, 1, 2, 3, 4, 5]), np.array([-1, 0, 1, 2, -2, 1, 2]), np.arange(7))
    paths = RecordedPaths(tree, np.zeros(7, dtype=np.int64), functions, {}, np.zeros(0, dtype=np.int64))
    assert names_at(paths, {}, 6) == (["at", "walk", "main"], 0)
    assert paths.without_recursion(6) == [1, 5, 6]
    assert paths.without_recursion(5) == [1, 5]
