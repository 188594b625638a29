"""Places at which call paths make their calls."""

from __future__ import annotations

from incprof.study.recorded_paths import _without_headers
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
