"""Samples in code that a program made lie at the functions that were there at the time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from incprof.model import LIBRARY, OWN
from incprof.readers.stream.coded_records import Nodes, RawSamples
from incprof.readers.stream.sample_decoder import GeneratedPaths
from incprof.symbols.function_table import GeneratedCode, Piece, generated_code

MADE = 3
PIECES = st.lists(
    st.builds(Piece, st.integers(0, 9), st.integers(0, 4), st.integers(1, 6), st.sampled_from("abc")), max_size=6
)
# Parent (as a part of those before), whether it is made code, and address.
TREE = st.lists(st.tuples(st.floats(0, 0.99), st.booleans(), st.integers(0, 6)), min_size=1, max_size=8)
SAMPLES = st.lists(st.tuples(st.floats(0, 0.99), st.integers(0, 9)), min_size=4, max_size=12)
Path = list[tuple[int, str | int]]


def held(pieces: list[Piece], address: int, time: int) -> str | None:
    """What was at an address: of what came later than the time, the first."""
    here = [p for p in pieces if p.start <= address < p.start + p.size]
    # The end of a function that has become smaller is free, where nothing else has been.
    last = {p.start: p for p in pieces}
    ends = [last[p.start].start + last[p.start].size for p in here]
    if len({p.name for p in here}) == 1 and max(ends) <= address:
        return None
    before = [p.name for p in here if p.since <= time]
    return (before or [p.name for p in here[:1]] or [None])[-1]


def path_of(nodes: Nodes, table: GeneratedCode, node: int) -> Path:
    path: Path = []
    while node:
        module, address = int(nodes.module[node]), int(nodes.address[node])
        symbol = int(table.find(np.array([address], dtype=np.uint64))[0]) if module == MADE else -1
        path.append((module, table.name(symbol) if symbol >= 0 else "?" if module == MADE else address))
        node = int(nodes.parent[node])
    return path[::-1]


def expected(nodes: Nodes, pieces: list[Piece], node: int, time: int) -> Path:
    """The path without what has no name, but for what nothing is below."""
    path: Path = []
    while node:
        module, address = int(nodes.module[node]), int(nodes.address[node])
        path.append((module, (held(pieces, address, time) or "?") if module == MADE else address))
        node = int(nodes.parent[node])
    path.reverse()
    return [frame for i, frame in enumerate(path) if i == 0 or frame != (MADE, "?")]


def raw_samples(node: list[int], time: list[int]) -> RawSamples:
    def column(values: list[int]) -> npt.NDArray[np.int64]:
        return np.array(values, dtype=np.int64)

    n = len(node)
    kind, none, one = column([OWN] * n), column([-1] * n), column([1] * n)
    return RawSamples(one * 0, column(time), one * 0, column(node), kind, none, one)


@given(PIECES, TREE, SAMPLES)
def test_each_sample_is_where_it_was(
    pieces: list[Piece], tree: list[tuple[float, bool, int]], drawn: list[tuple[float, int]]
) -> None:
    parent = np.array([0, *(int(part * (i + 1)) for i, (part, _, _) in enumerate(tree))], dtype=np.int64)
    module = np.array([0, *(MADE if made else 1 for _, made, _ in tree)], dtype=np.int64)
    address = np.array([0, *(at for _, _, at in tree)], dtype=np.int64)
    nodes = Nodes(parent, module, address, np.zeros(len(parent), dtype=bool), False)
    pieces = sorted((piece._replace(since=piece.since * 1000) for piece in pieces), key=lambda piece: piece.since)
    raw = raw_samples([int(part * len(parent)) for part, _ in drawn], [time for _, time in drawn])
    interval = np.zeros(len(drawn), dtype=np.int64)
    table = generated_code(pieces)
    paths = GeneratedPaths(nodes, {MADE: table}, np.zeros(1, dtype=np.int64), [(raw, interval)])
    moved = paths.moved(raw, interval)
    assert (paths.nodes.parent[1:] < np.arange(1, len(paths.nodes.parent))).all()
    for was, now, time, kind in zip(
        *(a.tolist() for a in (raw.node, moved.node, raw.delay_us, moved.kind)), strict=True
    ):
        right = expected(nodes, pieces, was, time * 1000)
        assert path_of(paths.nodes, table, now) == right
        unnamed = module[was] == MADE and held(pieces, int(address[was]), time * 1000) is None
        assert kind == (LIBRARY if unnamed and parent[was] else OWN)
