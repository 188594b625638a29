"""Names of C++: as the runtime spells them, unless they would never end."""

import ctypes.util
import sys
from pathlib import Path

import pytest

from incprof.symbols import demangle
from incprof.symbols.demangle import MOST_ENDS, demangle_in_process, display_names
from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import read_symbols
from tests.unit.places import patience

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle, "_cache", {})


def reference(number: int) -> str:
    """The part of that number, from 0."""
    return "S_" if number == 0 else f"S{DIGITS[number - 1]}_"


def doubled(times: int, function: str = "f") -> str:
    """A function whose parameters are A<int, int>, and A<x, x> of the one before: twice as long each time."""
    parameters = "".join(f"S_I{reference(number) * 2}E" for number in range(1, times + 1))
    return f"_Z{len(function)}{function}1AIiiE{parameters}"


def test_parts_of_parts_are_spelled_out() -> None:
    assert display_names([doubled(1), doubled(2)]) == [
        "f(A<int, int>, A<A<int, int>, A<int, int> >)",
        "f(A<int, int>, A<A<int, int>, A<int, int> >, A<A<A<int, int>, A<int, int> >, A<A<int, int>, A<int, int> > >)",
    ]


@pytest.mark.parametrize("times", [8, 16, 25, 34])
def test_names_that_would_be_too_long_stay_as_they_are(times: int) -> None:
    """The last one would have a hundred thousand million characters."""
    with patience():
        assert display_names(["_Z1gi", doubled(times), "_Z1hi"]) == ["g(int)", doubled(times), "h(int)"]


def test_what_comes_after_such_a_name_is_had() -> None:
    with patience():
        first, hostile, last = display_names([doubled(3, "first"), doubled(34), doubled(4, "last")])
    assert first.startswith("first(A<int, int>, A<")
    assert last.startswith("last(A<int, int>, A<")
    assert hostile == doubled(34)


def test_some_such_names_are_enough() -> None:
    """None of the others is looked at that could be like them; the rest is."""
    hostile = [doubled(34, f"f{number}") for number in range(MOST_ENDS)]
    last = doubled(3, "last")
    with patience():
        assert display_names([*hostile, last, "_Z1gi"]) == [*hostile, last, "g(int)"]


def test_lists_in_lists() -> None:
    assert display_names(["_Z1gIJidEEvDpT_"]) == ["void g<int, double>(int, double)"]
    name = "_Z1fIJ" + "i" * 200 + "EEv" + "Dp1AI" * 40 + "T_" + "E" * 40
    with patience():
        (found,) = display_names([name])
    assert len(found) <= demangle.longest(name.encode())


@pytest.mark.parametrize(
    "name",
    ["_Z", "_Z1f" + "P" * 100_000 + "i", "_Z1f" + "i" * 5000, "_Z1f\0i", "_Z4caf\u00e9v", "_Z4caf\udce9i", "_Z1f\ni"],
)
def test_invalid_names(name: str) -> None:
    with patience():
        assert display_names([name, "_Z1gi"])[1] == "g(int)"


def test_without_another_process_simple_names_are_had(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("/nowhere/python", "/bin/false", "", None):
        monkeypatch.setattr(sys, "executable", executable)
        monkeypatch.setattr(demangle, "_cache", {})
        assert display_names(["_Z1gi", doubled(3)]) == ["g(int)", doubled(3)]


def test_names_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = display_names([doubled(3)])
    monkeypatch.setattr(demangle, "demangle_in_process", lambda names, *_: [b"again"] * len(names))
    assert display_names([doubled(3), doubled(3)]) == [name, name]


def test_both_ways_give_the_same() -> None:
    library = next(Path("/usr/lib").rglob("libstdc++.so.6"), None)
    if library is None or ctypes.util.find_library("stdc++") is None:
        pytest.skip("no C++ runtime to take names from")
    table = read_symbols(open_elf(str(library.resolve())))
    names = [table.name(at).encode() for at in range(len(table)) if table.name(at).startswith("_Z")]
    here = demangle.load()
    expected = [here(name) for name in names]
    assert sum(map(bool, expected)) > 0.9 * len(names) > 1000
    assert demangle_in_process(names) == expected
    assert display_names(name.decode() for name in names) == [
        (found or name).decode() for name, found in zip(names, expected, strict=True)
    ]
