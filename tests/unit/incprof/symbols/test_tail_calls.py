"""Which functions are missing between a call and the function found above it, and how they come into call paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.model import LIBRARY, OWN, Module, PathTree, Samples
from incprof.readers.stream.decoder import _Grown
from incprof.symbols.control_flow import ANYWHERE, Control, Range
from incprof.symbols.function_space import FunctionSpace
from incprof.symbols.function_table import SymbolTable, build_table
from incprof.symbols.modules import AddressArray, _targets
from incprof.symbols.tail_calls import MOST_JUMPS, OUTSIDE, Chain, Frame, TailCalls

SIZE, SITE = 64, 0x10_0000
MODULE = Module(0, "/program", None, 0, 2**32, True)


@dataclass
class Code:
    """Code of functions of SIZE bytes each, the first one at SIZE. ways: by function, where its jumps lead."""

    ways: dict[int, Sequence[int]]
    target: int = 0
    stubs: dict[int, str] = field(default_factory=dict)
    exports: dict[str, int] = field(default_factory=dict)

    def stub(self, address: int) -> str | None:
        return self.stubs.get(address)

    def exported(self, name: str) -> int | None:
        return self.exports.get(name)

    def call_targets(self, last: AddressArray) -> AddressArray:
        return np.full(last.shape, self.target, dtype=np.uint64)

    def jumps(self, functions: Sequence[Range]) -> dict[Range, list[Control]]:
        found = {}
        for begin, size in functions:
            to = self.ways.get(begin // SIZE - 1, ())
            found[begin, size] = [
                Control(begin + 4 * i, other if other == ANYWHERE else SIZE * (other + 1), False)
                for i, other in enumerate(to, 1)
            ]
        return found


def table(names: Sequence[str]) -> SymbolTable:
    address = np.arange(1, len(names) + 1, dtype=np.uint64) * np.uint64(SIZE)
    size = np.full(len(names), SIZE, dtype=np.uint64)
    return build_table(address, size, address + size, [name.encode() for name in names])


def asked(ways: dict[int, Sequence[int]], named: int, found: int, names: Sequence[str] = "abcdefgh") -> list[int]:
    """The functions that are missing when `named` is called and `found` is above; they are numbered from 0."""
    space = FunctionSpace([MODULE], lambda _: table(names))
    first = int(space.of_addresses(0, np.array([SIZE], dtype=np.uint64))[0])
    code = Code(ways, SIZE * (named + 1))
    calls = TailCalls(space, [MODULE], lambda _: code)  # type: ignore[arg-type,return-value]
    above = np.array([found if found == OUTSIDE else found + first], dtype=np.int32)
    chains, which = calls.lost(np.zeros(1, dtype=np.int64), np.array([SITE], dtype=np.uint64), above)
    for frame in chains[which[0]]:
        begin = SIZE * (frame.function - first + 1)
        assert begin < frame.address < begin + SIZE
    return [frame.function - first for frame in chains[which[0]]]


@pytest.mark.parametrize(
    ("ways", "named", "found", "missing"),
    [
        ({}, 0, 0, []),
        ({0: [1]}, 0, 1, [0]),
        ({0: [1], 1: [2]}, 0, 2, [0, 1]),
        ({0: [1], 1: [2], 2: [3], 3: [4]}, 0, 4, [0, 1, 2, 3]),
        ({0: [1], 1: [2], 2: [3], 3: [4], 4: [5]}, 0, 5, []),  # too far
        ({}, 0, 1, []),  # no jump at all: something else is wrong
        ({0: [2]}, 0, 1, []),  # a jump elsewhere
        ({0: [0, 1]}, 0, 1, [0]),
        ({0: [1], 1: [0]}, 0, 1, [0]),  # mutual recursion
        ({0: [1], 1: [0]}, 0, 0, []),
        ({0: [1, 2], 1: [3], 2: [3]}, 0, 3, [0]),  # two ways
        ({0: [1, 2], 1: [3], 2: [3], 3: [4]}, 0, 4, [0, 3]),
        ({0: [ANYWHERE]}, 0, 1, [0]),
        ({0: [1], 1: [ANYWHERE]}, 0, 2, [0, 1]),
        ({0: [1, ANYWHERE], 1: [2]}, 0, 2, [0, 1]),  # a way that is seen counts before one that may be
        ({0: [ANYWHERE]}, 0, OUTSIDE, [0]),
        ({0: [1]}, 0, OUTSIDE, []),
    ],
)
def test_ways(ways: dict[int, Sequence[int]], named: int, found: int, missing: list[int]) -> None:
    assert asked(ways, named, found) == missing


def test_thunks_and_cold_parts_are_passed() -> None:
    names = ["_ZThn8_N1A1fEv", "_ZN1A1fEv", "work.cold", "work", "apply"]
    assert asked({0: [1]}, 0, 1, names) == []
    assert asked({4: [0], 0: [1]}, 4, 1, names) == [4]
    assert asked({3: [2], 2: [4]}, 3, 4, names) == [3]
    assert asked({3: [2]}, 3, 2, names) == []
    assert asked({4: [3], 3: [2]}, 4, 2, names) == [4]
    assert asked({4: [2]}, 4, 2, names) == [4]


def test_inside_a_function_is_no_call_of_it() -> None:
    space = FunctionSpace([MODULE], lambda _: table("ab"))
    calls = TailCalls(space, [MODULE], lambda _: Code({0: [1]}, SIZE + 8))  # type: ignore[arg-type,return-value]
    above = space.of_addresses(0, np.array([2 * SIZE], dtype=np.uint64))
    chains, which = calls.lost(np.zeros(1, dtype=np.int64), np.array([SITE], dtype=np.uint64), above)
    assert chains[which[0]] == ()


@pytest.mark.parametrize(
    ("exports", "missing"),
    [
        ([{"f": SIZE}, {}], True),
        ([{}, {"f": SIZE}], False),  # the other module's f does not jump
        ([{"f": SIZE}, {"f": SIZE}], False),  # which of them it is is not known
        ([{}, {}], False),
    ],
)
def test_linkage_stubs(exports: list[dict[str, int]], missing: bool) -> None:
    other = Module(1, "/library.so", None, 0, 2**32, True)
    space = FunctionSpace([MODULE, other], lambda m: table(["f", "g", "[plt]"]) if m.id == 0 else table("fg"))
    stub = 3 * SIZE + 16
    codes = [Code({0: [1]}, stub, {stub: "f"}, exports[0]), Code({}, 0, {}, exports[1])]
    calls = TailCalls(space, [MODULE, other], lambda module: codes[module.id])  # type: ignore[arg-type,return-value]
    above = space.of_addresses(0, np.array([2 * SIZE], dtype=np.uint64))
    chains, which = calls.lost(np.zeros(1, dtype=np.int64), np.array([SITE], dtype=np.uint64), above)
    assert bool(chains[which[0]]) == missing


def test_a_jump_to_anywhere_is_not_enough_behind_a_stub() -> None:
    space = FunctionSpace([MODULE], lambda _: table(["f", "g", "[plt]"]))
    stub = 3 * SIZE + 16
    code = Code({0: [ANYWHERE]}, stub, {stub: "f"}, {"f": SIZE})
    calls = TailCalls(space, [MODULE], lambda _: code)  # type: ignore[arg-type,return-value]
    above = space.of_addresses(0, np.array([2 * SIZE], dtype=np.uint64))
    chains, which = calls.lost(np.zeros(1, dtype=np.int64), np.array([SITE], dtype=np.uint64), above)
    assert chains[which[0]] == ()


def ways_of(ways: dict[int, Sequence[int]], at: list[int], goal: int) -> Iterator[list[int]]:
    """All ways by up to MOST_JUMPS jumps that pass no function twice, without the goal."""
    if len(at) > MOST_JUMPS:
        return
    for other in ways.get(at[-1], ()):
        if other == goal:
            yield at
        elif other not in at:
            yield from ways_of(ways, [*at, other], goal)


@given(
    st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=3), max_size=8),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_what_is_missing_lies_on_every_way(ways: dict[int, Sequence[int]], named: int, found: int) -> None:
    missing = asked(ways, named, found)
    every = list(ways_of(ways, [named], found)) if named != found else []
    assert set(missing) == (set.intersection(*map(set, every)) if every else set())
    if every:
        assert missing[0] == named
        assert any(missing == [function for function in way if function in missing] for way in every)


def test_calls_are_distinguished_from_similar_bytes() -> None:
    code = bytearray(64)
    code[4:9] = b"\xe8\x10\x00\x00\x00"  # call rel32
    code[16:21] = b"\xe8\xf0\xff\xff\xff"
    code[30:37] = b"\xff\x94\xe8\x10\x00\x00\x00"  # call *0x10(%rax,%rbp,8)
    code[40:42] = b"\xff\xd0"  # call *%rax
    last = np.array([8, 20, 36, 41, 63], dtype=np.uint64) + np.uint64(0x1000)
    at = (last - np.uint64(0x1000)).astype(np.int64) - 4
    found = _targets(np.frombuffer(bytes(code), dtype=np.uint8), at, last)
    assert found.tolist() == [0x1000 + 9 + 0x10, 0x1000 + 21 - 0x10, 0, 0, 0]


@st.composite
def tries(draw: st.DrawFn) -> tuple[list[int], dict[int, Chain], dict[int, Chain]]:
    """Parents, chains above nodes, chains below nodes."""
    size = draw(st.integers(2, 12))
    parents = [0, *(draw(st.integers(0, node - 1)) for node in range(1, size))]
    chain = st.lists(st.builds(Frame, st.integers(50, 53), st.integers(500, 501)), min_size=1, max_size=3).map(tuple)
    nodes = st.integers(1, size - 1)
    return parents, draw(st.dictionaries(nodes, chain)), draw(st.dictionaries(nodes, chain))


def path(tree: PathTree, node: int) -> list[tuple[int, int]]:
    """Function and address of the frames, outermost first."""
    frames = []
    while node:
        frames.append((int(tree.function[node]), int(tree.address[node])))
        node = int(tree.parent[node])
    return frames[::-1]


@given(tries())
def test_frames_put_into_paths(drawn: tuple[list[int], dict[int, Chain], dict[int, Chain]]) -> None:
    parents, above, below = drawn
    size = len(parents)
    numbers = np.arange(size, dtype=np.int64)
    old = PathTree(np.array(parents, dtype=np.int64), numbers.astype(np.int32) - 1, numbers + 1000)
    kind = np.repeat([OWN, LIBRARY], size).astype(np.int8)
    none = np.zeros(2 * size, dtype=np.int32)
    samples = Samples(none.astype(np.float64), none, np.tile(numbers, 2).astype(np.int32), kind, none + 1, none)
    grown = _Grown(old)
    for node, chain in above.items():
        grown.above(node, chain)
    for node, chain in below.items():
        grown.below(node, chain)
    tree, moved = grown.tree(), grown.moved(samples)
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    assert moved.node.dtype == samples.node.dtype

    def expected(node: int) -> list[tuple[int, int]]:
        if not node:
            return []
        return [*expected(parents[node]), *above.get(node, ()), (node - 1, node + 1000)]

    for at, (node, in_library) in enumerate(zip(samples.node.tolist(), (kind == LIBRARY).tolist(), strict=True)):
        more = below.get(node, ()) if in_library else ()
        assert path(tree, int(moved.node[at])) == [*expected(node), *more]


def test_nothing_to_put_in_changes_nothing() -> None:
    old = PathTree(np.array([0, 0, 1]), np.array([-1, 0, 1], dtype=np.int32), np.array([0, 5, 6]))
    tree = _Grown(old).tree()
    assert [column.tolist() for column in (tree.parent, tree.function, tree.address)] == [
        [0, 0, 1],
        [-1, 0, 1],
        [0, 5, 6],
    ]
