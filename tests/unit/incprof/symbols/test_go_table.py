"""Functions and lines of stripped Go programs, by the table that their run-time has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuzz.go_table import GO_16, GO_18, GO_20, GoFunction, go_table_bytes, with_go_table
from incprof.errors import NoDataError
from incprof.symbols.elf import ElfFile
from incprof.symbols.elf_symbols import go_places, go_table, read_symbols
from soak.mutate import damaged
from tests.unit.elfwriter import elf_bytes

TEXT = 0x401000
FUNCTIONS = [
    GoFunction("runtime.goexit", 32, [(0, 32)]),
    GoFunction("main.(*table).words", 96, [(0, 4), (88, 90), (0, 2)], [(12, 40), (9, 40), (300, 16)]),
    GoFunction("main.leaf", 0x1000, lines=[(31, 0x1000)]),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file with code and without any names."""
    (tmp_path / "plain").write_bytes(elf_bytes([], build_id=None, text=(TEXT, TEXT + 0x2000)))
    return tmp_path


def program(place: Path, table: bytes, section: str = ".gopclntab") -> ElfFile:
    if not with_go_table(place / "plain", table, place / "go", section=section):
        pytest.skip("objcopy is not installed")
    return ElfFile(str(place / "go"))


@pytest.mark.parametrize("version", [GO_16, GO_18, GO_20])
@pytest.mark.parametrize("section", [".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"])
def test_names_and_lines(place: Path, version: int, section: str) -> None:
    table = go_table_bytes(FUNCTIONS, text=TEXT, version=version)
    elf = program(place, (bytes(64) if section == ".data.rel.ro" else b"") + table, section)
    symbols = read_symbols(elf)
    assert [symbols.name(i) for i in range(3)] == [function.name for function in FUNCTIONS]
    assert symbols.address.tolist() == [TEXT, TEXT + 32, TEXT + 128]
    assert symbols.size.tolist() == [32, 96, 0x1000]
    assert not symbols.exported_only
    inside = [TEXT + 32, TEXT + 71, TEXT + 72, TEXT + 127, TEXT + 0x500]
    assert go_places(elf, inside) == [("/src/a.go", line) for line in (12, 12, 9, 300, 31)]
    assert go_places(elf, [0, TEXT - 1, TEXT, TEXT + 0x1080, 2**64 - 1]) == [None] * 5


def test_code_begins_where_the_loader_puts_it(place: Path) -> None:
    """A table that is moved with its program, and is not filled in."""
    elf = program(place, go_table_bytes(FUNCTIONS, text=0))
    assert read_symbols(elf).address.tolist() == [TEXT, TEXT + 32, TEXT + 128]


def test_damage_is_answered(place: Path) -> None:
    """No byte of it, and no end, leads to more than other functions or none."""
    for seed in range(150):
        elf = program(place, damaged(seed, go_table_bytes(FUNCTIONS, text=TEXT)))
        try:
            symbols = read_symbols(elf)
            places = go_places(elf, [TEXT + 40, TEXT + 200, *symbols.address.tolist()])
        except NoDataError:
            continue
        assert all(p is None or p[1] > 0 for p in places)
        assert (np.diff(symbols.address.astype(object)) > 0).all()


def test_names_that_lie_in_each_other_are_none(place: Path) -> None:
    many = [GoFunction("a" * 4000 if i == 0 else "b", 16) for i in range(300)]
    table = bytearray(go_table_bytes(many, text=TEXT))
    known = go_table(program(place, bytes(table)))
    assert known is not None
    for about in known.about.tolist():
        table[about + 4 : about + 8] = bytes(4)
    found = go_table(program(place, bytes(table)))
    assert found is not None
    assert len(found.functions()[0]) == 0
