"""Line tables without a tool that reads them: of a compiler's file, and of damaged ones."""

import shutil
import struct
import subprocess
import tracemalloc
import zlib

import pytest

from incprof.symbols.addr2line import from_line_tables
from incprof.symbols.elf import open_elf
from incprof.symbols.elf_symbols import read_symbols

SECTION_HEADERS, SECTION_SIZE, COMPRESSION = 40, 64, struct.Struct("<IIQQ")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with compressed debug information."""
    place = tmp_path_factory.mktemp("lines")
    (place / "app.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    command = ["gcc", "-g", "-gz=zlib", "-gno-column-info", "app.c", "-o", "app"]
    subprocess.run(command, cwd=place, check=True)
    return place / "app"


def address_of_main(path):
    table = read_symbols(open_elf(str(path)))
    return next(int(table.address[at]) for at in range(len(table)) if table.name(at) == "main")


def section(path, name):
    """Position of a section in the table, its place in the file, its size."""
    sections = open_elf(str(path)).sections
    (at,) = [at for at, each in enumerate(sections) if each.name == name]
    return at, sections[at].offset, sections[at].size


def test_a_place(program):
    ((path, line),) = from_line_tables(str(program), [address_of_main(program)])
    assert (path, line) == (str(program.parent / "app.c"), 2)
    assert from_line_tables(str(program), [1 << 60]) == [None]


@pytest.mark.parametrize("name", [".debug_line", ".debug_info", ".debug_aranges"])
def test_damaged_compression(program, tmp_path, name):
    damaged = tmp_path / "app"
    shutil.copy(program, damaged)
    _, offset, size = section(program, name)
    start = offset + COMPRESSION.size
    data = bytearray(damaged.read_bytes())
    data[start : offset + size] = b"\xff" * (size - COMPRESSION.size)
    damaged.write_bytes(data)
    assert from_line_tables(str(damaged), [address_of_main(program)]) == [None]


@pytest.mark.slow
def test_a_section_that_becomes_huge_is_left_alone(program, tmp_path):
    huge = tmp_path / "app"
    data = bytearray(program.read_bytes())
    at, _, _ = section(program, ".debug_info")
    bomb = COMPRESSION.pack(1, 0, 256 << 20, 1) + zlib.compress(bytes(256 << 20))
    (headers,) = struct.unpack_from("<Q", data, SECTION_HEADERS)
    struct.pack_into("<QQ", data, headers + at * SECTION_SIZE + 24, len(data), len(bomb))
    huge.write_bytes(data + bomb)
    tracemalloc.start()
    try:
        assert from_line_tables(str(huge), [address_of_main(program)]) == [None]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


def test_a_section_that_claims_to_be_huge(program, tmp_path):
    huge = tmp_path / "app"
    data = bytearray(program.read_bytes())
    for name in (".eh_frame", ".debug_aranges"):
        at, _, _ = section(program, name)
        (headers,) = struct.unpack_from("<Q", data, SECTION_HEADERS)
        struct.pack_into("<Q", data, headers + at * SECTION_SIZE + 32, 1 << 62)
    huge.write_bytes(data)
    assert from_line_tables(str(huge), [address_of_main(program)]) == [None]


def test_a_line_program_without_lines(program, tmp_path):
    """Operations of an instruction and the range of lines are what places are divided by."""
    subprocess.run(["gcc", "-g", "-gdwarf-5", "app.c", "-o", tmp_path / "app"], cwd=program.parent, check=True)
    data = bytearray((tmp_path / "app").read_bytes())
    _, offset, _ = section(tmp_path / "app", ".debug_line")
    data[offset + 13] = data[offset + 16] = 0
    (tmp_path / "app").write_bytes(data)
    assert from_line_tables(str(tmp_path / "app"), [address_of_main(program)]) == [None]
