"""What a place in a program has held in the course of a run."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incprof.symbols.function_table import RELOCATED_BASE, GeneratedCode, Piece, generated_code
from incprof.symbols.modules import parse_map

PIECES = st.lists(
    st.builds(Piece, st.integers(0, 9), st.integers(0, 30), st.integers(1, 12), st.sampled_from("abc")), max_size=8
)
HOSTILE = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.from_regex(rb"(# (since|move|source) )?[0-9a-f]{1,18} [0-9a-f]{1,18} ?[^\n]{0,5}", fullmatch=True),
    )
).map(b"\n".join)


def name_at(table: GeneratedCode, address: int) -> str | None:
    symbol = int(table.find(np.array([address], dtype=np.uint64))[0])
    return table.name(symbol) if symbol >= 0 else None


def used(table: GeneratedCode, address: int) -> list[tuple[int, str | None]]:
    return [(use.since, name_at(table, use.address)) for use in table.uses(address)]


def test_another_function_in_its_place() -> None:
    table = parse_map(b"# since 5\n1000 40 old\n# since 9\n1020 40 new\n2000 10 other\n")
    assert used(table, 0x1010) == []
    assert used(table, 0x1030) == [(5, "old"), (9, "new")]
    assert [name_at(table, at) for at in (0x1010, 0x1030, 0x2000, 0x3000)] == ["old", "new", "other", None]


def test_what_is_compiled_again_is_one_function() -> None:
    table = parse_map(b"1000 40 julia_step_1\n# since 9\n1000 80 julia_step_2\n2000 9 julia_step_3\n")
    assert used(table, 0x1010) == []
    assert len(table) == 1


def test_a_function_that_was_moved() -> None:
    table = parse_map(b"# source 1000 7 run.x\n1000 40 step\n# since 9\n# move 1000 2000 40\n# move 5 6 7\n")
    assert name_at(table, 0x2001) == name_at(table, 0x1001) == "step"
    assert table.sources == {"step": ("run.x", 7)}


def test_frames_of_python_are_found_anyway() -> None:
    assert len(parse_map(b"1000 10 py::run:/home/me/run.py\n")) == 0


@given(PIECES)
def test_each_address_has_what_it_held(pieces: list[Piece]) -> None:
    table = generated_code(pieces)
    for address in range(45):
        here = [(p.since, p.name) for p in pieces if p.start <= address < p.start + p.size]
        changes = [use for i, use in enumerate(here) if i == 0 or here[i - 1][1] != use[1]]
        assert used(table, address) == (changes if len(changes) > 1 else [])
        if changes:
            assert bool(table.is_shared(np.array([address]))[0]) or len(changes) == 1
        # The end of a function that has become smaller is free.
        assert name_at(table, address) in {None, *(name for _, name in here)}


@given(HOSTILE)
def test_any_text_is_read(text: bytes) -> None:
    table = parse_map(text)
    assert (table.start < table.end).all()
    assert (table.end[:-1] <= table.start[1:]).all()
    assert not len(table.end) or int(table.end[-1]) < 2 * RELOCATED_BASE
