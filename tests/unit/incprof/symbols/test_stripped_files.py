"""Functions of files without a symbol table: packed symbols and unwind tables, honest and hostile ones."""

import lzma
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.errors import NoDataError
from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import read_symbols, unpacked
from incprof.symbols.function_table import unwind_ranges
from tests.integration.hosts import need

SOURCE = """
int shown(int x) { return x + 1; }
static __attribute__((noinline)) int hidden(int x) { return shown(x) * 2; }
int main(int argc, char **argv) { return hidden(argc) + hidden(argc + 1); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exports its functions that are not static."""
    need("gcc", "strip", "nm")
    place = tmp_path_factory.mktemp("stripped")
    (place / "a.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-rdynamic", "a.c", "-o", "full"], cwd=place, check=True)
    subprocess.run(["strip", "-o", "bare", "full"], cwd=place, check=True)
    return place


def functions(place: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each function, by nm."""
    lines = subprocess.run(["nm", "-S", "full"], cwd=place, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in lines.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "tT"}


def test_exported_names_and_addresses_of_the_others(program: Path) -> None:
    table = read_symbols(open_elf(str(program / "bare")))
    known = functions(program)
    assert table.exported_only
    for name, shown in (("main", "main"), ("shown", "shown"), ("hidden", f"+{known['hidden'][0]:#x}")):
        address, size = known[name]
        inside = np.array([address, address + size - 1], dtype=np.uint64)
        assert [table.name(i) for i in table.find(inside).tolist()] == [shown, shown]
    assert table.find(np.array([known["hidden"][0] + known["hidden"][1]], dtype=np.uint64))[0] != table.find(
        np.array([known["hidden"][0]], dtype=np.uint64)
    )


def test_ranges_are_those_of_the_symbols(program: Path) -> None:
    start, size = unwind_ranges(open_elf(str(program / "bare")))
    found = dict(zip(start.tolist(), size.tolist(), strict=True))
    assert all(found[address] == length for address, length in functions(program).values() if address in found)
    assert {functions(program)[name][0] for name in ("main", "shown", "hidden")} <= found.keys()


def test_damaged_tables_are_refused_or_empty(program: Path, tmp_path: Path) -> None:
    elf = open_elf(str(program / "bare"))
    for name in (".eh_frame_hdr", ".eh_frame"):
        section = elf.section(name)
        assert section is not None
        for filler in (b"\xff", b"\0", bytes(range(256))):
            data = bytearray((program / "bare").read_bytes())
            kept = 4 if name == ".eh_frame_hdr" else 0
            rest = section.size - kept
            data[section.offset + kept : section.offset + section.size] = (filler * (rest // len(filler) + 1))[:rest]
            hostile = tmp_path / "hostile"
            hostile.write_bytes(data)
            try:
                table = read_symbols(open_elf(str(hostile)))
            except NoDataError:
                continue
            assert set(range(len(table))) >= set(table.owner.tolist())
            assert (table.end > table.start).all()


@pytest.mark.slow
def test_invalid_packed_symbols() -> None:
    assert unpacked(b"") is None
    assert unpacked(b"no xz") is None
    whole = lzma.compress(struct.pack("<1000I", *range(1000)))
    assert unpacked(whole) == struct.pack("<1000I", *range(1000))
    assert unpacked(whole[:-20]) is None
    assert unpacked(lzma.compress(bytes(50_000_000))) is None  # one that unpacks to 7 000 times its size
