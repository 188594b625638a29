"""Symbol tables: which function an address belongs to, and under which name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.symbols.demangle import display_names
from incprof.symbols.elf import open_elf
from incprof.symbols.elf.program_file import read_traits
from incprof.symbols.elf_symbols import read_symbols
from incprof.symbols.function_table import NOWHERE
from incprof.symbols.symbol_files import cached_symbols
from soak.mutate import damaged, mutate_binary
from soak.mutate_elf import mutate_elf
from tests.unit.elfwriter import FUNC, GLOBAL, LOCAL, NOTYPE, WEAK, Symbol, elf_bytes

TEXT = (0x1000, 0x2000)


def table_of(symbols, directory, **options):
    path = directory / "app"
    path.write_bytes(elf_bytes(symbols, build_id=options.pop("build_id", "ab" * 20), text=TEXT, **options))
    return read_symbols(open_elf(str(path)))


def names_at(table, *addresses):
    found = table.find(np.array(addresses, dtype=np.uint64))
    return [None if index == NOWHERE else table.name(index) for index in found.tolist()]


def test_static_functions_and_clones_are_themselves(tmp_path):
    names = ["main", "solve.isra.0", "solve.part.0", "solve.constprop.0", "main._omp_fn.0", "solve.cold"]
    table = table_of([Symbol(n, 0x1000 + 0x40 * i, 0x40, LOCAL) for i, n in enumerate(names)], tmp_path)
    assert names_at(table, *(0x1000 + 0x40 * i + 0x3F for i in range(6))) == names


def test_addresses_in_gaps_belong_to_no_function(tmp_path):
    table = table_of([Symbol("a", 0x1010, 0x10), Symbol("b", 0x1030, 0x10)], tmp_path)
    assert names_at(table, 0, 0x100F, 0x1010, 0x101F, 0x1020, 0x1030, 0x1040, 2**64 - 1) == [
        None, None, "a", "a", None, "b", None, None,
    ]  # fmt: skip


def test_unsized_functions_reach_to_the_next_symbol_or_the_end_of_the_section(tmp_path):
    symbols = [Symbol("asm_a", 0x1000, 0), Symbol("b", 0x1100, 0x10), Symbol("asm_c", 0x1200, 0)]
    assert names_at(table_of(symbols, tmp_path), 0x10FF, 0x1110, 0x1FFF, 0x2000) == ["asm_a", None, "asm_c", None]


@pytest.mark.parametrize(
    ("aliases", "chosen"),
    [
        ([Symbol("z_local", 0x1000, 8, LOCAL), Symbol("weak", 0x1000, 8, WEAK), Symbol("globl", 0x1000, 8)], "globl"),
        ([Symbol("__write", 0x1000, 8), Symbol("_write", 0x1000, 8), Symbol("write", 0x1000, 8)], "write"),
        ([Symbol("__poll", 0x1000, 8), Symbol("poll", 0x1000, 8, WEAK)], "poll"),
        ([Symbol("longer", 0x1000, 8), Symbol("short", 0x1000, 8)], "short"),
        ([Symbol("b", 0x1000, 8), Symbol("a", 0x1000, 8)], "a"),
        ([Symbol("sized", 0x1000, 8, LOCAL), Symbol("bare", 0x1000, 0, GLOBAL)], "sized"),
    ],
)
def test_one_name_for_aliases(aliases, chosen, tmp_path):
    for order in (aliases, aliases[::-1]):
        table = table_of(order, tmp_path)
        assert len(table) == 1
        assert names_at(table, 0x1004) == [chosen]


def test_a_function_inside_another_is_cut_out(tmp_path):
    symbols = [Symbol("outer", 0x1000, 0x100), Symbol("entry", 0x1040, 0x10), Symbol("after", 0x10F0, 0x20)]
    table = table_of(symbols, tmp_path)
    assert names_at(table, 0x103F, 0x1040, 0x104F, 0x1050, 0x10EF, 0x10F0, 0x110F, 0x1110) == [
        "outer", "entry", "entry", "outer", "outer", "after", "after", None,
    ]  # fmt: skip


def test_labels_count_outside_of_functions_only(tmp_path):
    symbols = [
        Symbol("real", 0x1000, 0x40, GLOBAL, FUNC),
        Symbol("inner_label", 0x1010, 0, LOCAL, NOTYPE),
        Symbol("asm_function", 0x1040, 0, GLOBAL, NOTYPE),
        Symbol(".Lhidden", 0x1050, 0, LOCAL, NOTYPE),
    ]
    assert names_at(table_of(symbols, tmp_path), 0x1018, 0x1044, 0x1054) == ["real", "asm_function", "asm_function"]


def test_linkage_stubs_have_a_name(tmp_path):
    table = table_of([Symbol("main", 0x1000)], tmp_path, plt=(0x800, 0x840))
    assert names_at(table, 0x7FF, 0x800, 0x83F, 0x840, 0x1000) == [None, "[plt]", "[plt]", None, "main"]


def test_dynamic_symbols_are_second_best(tmp_path):
    table = table_of([Symbol("exported", 0x1000)], tmp_path, table=".dynsym")
    assert table.exported_only
    assert names_at(table, 0x1000) == ["exported"]


def test_nothing_in_a_stripped_file(tmp_path):
    assert len(table_of([], tmp_path)) == 0
    assert names_at(table_of([], tmp_path), 0x1000) == [None]


ranges = st.lists(st.tuples(st.integers(0x1000, 0x10FF), st.integers(0, 0x60)), max_size=12, unique_by=lambda r: r[0])


@settings(max_examples=100, deadline=None)
@given(symbols=ranges)
def test_every_address_as_a_slow_search_finds_it(symbols, tmp_path_factory):
    """The innermost function that covers the address, by looking at all of them."""
    table = table_of([Symbol(f"f{a:x}", a, s) for a, s in symbols], tmp_path_factory.mktemp("elf"))
    starts = [*sorted(a for a, _ in symbols), TEXT[1]]
    reach = {a: a + s if s else starts[starts.index(a) + 1] for a, s in symbols}
    addresses = range(0x0FF0, 0x1180)
    covering = [[a for a in reach if a <= address < reach[a]] for address in addresses]
    assert names_at(table, *addresses) == [f"f{max(c):x}" if c else None for c in covering]


def test_cache_gives_the_same_table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "big"
    symbols = [Symbol(f"function_{i}", 0x10000 + 16 * i, 16) for i in range(5000)]
    path.write_bytes(elf_bytes(symbols, build_id="cd" * 20, text=(0x10000, 0x10000 + 16 * 5000)))
    elf = open_elf(str(path))
    fresh = cached_symbols(elf)
    (kept,) = (tmp_path / "cache" / "incprof").iterdir()
    assert kept.name.startswith("symbols-3-" + "cd" * 20)
    again = cached_symbols(elf)
    assert again.names == fresh.names
    np.testing.assert_array_equal(again.start, fresh.start)
    for damage in (b"", b"PK\x03\x04rubbish", kept.read_bytes()[:-200]):
        kept.write_bytes(damage)
        assert cached_symbols(elf).names == fresh.names
        assert kept.stat().st_size > 1000


def test_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = tmp_path / "big"
    symbols = [Symbol(f"function_{i}", 0x10000 + 16 * i, 16) for i in range(5000)]
    path.write_bytes(elf_bytes(symbols, build_id="cd" * 20, text=(0x10000, 0x90000)))
    assert len(cached_symbols(open_elf(str(path)))) == 5000


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"not an ELF file at all", b"\x7fELF\x02\x01\x01" + bytes(200)])
def test_files_that_are_no_programs(content, tmp_path):
    path = tmp_path / "app"
    path.write_bytes(content)
    try:
        table = read_symbols(open_elf(str(path)))
    except NoDataError as error:
        message = str(error)
    else:
        message = str(path)
        assert len(table) == 0
    assert str(path) in message
    assert "\n" not in message


def test_32_bit_and_big_endian_are_refused(tmp_path):
    path = tmp_path / "app"
    for ident, message in ((b"\x7fELF\x01\x01\x01", "32-bit"), (b"\x7fELF\x02\x02\x01", "big-endian")):
        path.write_bytes(ident + bytes(300))
        with pytest.raises(NoDataError, match=message):
            open_elf(str(path))


@pytest.mark.parametrize("apart", [0, 16])
def test_names_that_are_parts_of_each_other_take_no_memory(apart, tmp_path):
    """Each of 20 000 names is nearly a megabyte long, in a file of two."""
    symbols = [Symbol("x" * 1_000_000, 0x1000)]
    symbols += [Symbol("", 0x1000 + apart * i, name_at=1 + i) for i in range(20_000)]
    path = tmp_path / "app"
    path.write_bytes(elf_bytes(symbols, build_id="ab" * 20, text=(0x1000, 0x1000 + 16 * 20_000)))
    with pytest.raises(NoDataError, match="names of symbols overlap"):
        read_symbols(open_elf(str(path)))
    with pytest.raises(NoDataError, match="names of symbols overlap"):
        read_traits(str(path))


def test_a_section_larger_than_any(tmp_path):
    path = tmp_path / "app"
    path.write_bytes(elf_bytes([Symbol("f", 0x1000)], build_id="ab" * 20, text=TEXT))
    elf = open_elf(str(path))
    section = elf.section(".symtab")
    with pytest.raises(NoDataError, match="bytes at offset"):
        elf.contents(section._replace(size=section.size + 10_000))
    with pytest.raises(NoDataError, match="bytes at offset"):
        elf.contents(section._replace(size=1 << 40))


WHOLE = elf_bytes([Symbol("a", 0x1000), Symbol("b", 0x1100)], build_id="ab" * 20, text=TEXT)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_damaged_programs(seed, tmp_path_factory):
    content = damaged(seed, WHOLE, mutate_elf if seed % 2 else mutate_binary)
    path = tmp_path_factory.mktemp("elf") / "app"
    path.write_bytes(content)
    try:
        table = read_symbols(open_elf(str(path)))
    except NoDataError as error:
        message = str(error)
    else:
        message = ""
        assert (table.end > table.start).all()
    assert "\n" not in message


def test_names_for_people():
    mangled = ["_Z3fooi.isra.0", "_ZN1AIdE1gEv.cold", "_Znonsense", "__mesh_MOD_refine", "solve_", "main", "f.part.0"]
    assert display_names(mangled) == [
        "foo(int) [clone .isra.0]", "A<double>::g() [clone .cold]", "_Znonsense", "mesh::refine", "solve_", "main",
        "f.part.0",
    ]  # fmt: skip
    assert display_names(["solve_", "solve_.part.0", "MAIN__", "_start", "__x_MOD_y.constprop.0"], fortran=True) == [
        "solve", "solve.part.0", "MAIN__", "_start", "x::y.constprop.0",
    ]  # fmt: skip


def test_fortran_is_recognised_by_its_marks(tmp_path):
    assert not table_of([Symbol("solve_", 0x1000)], tmp_path).fortran
    assert table_of([Symbol("solve_", 0x1000)], tmp_path, extra_strings=b"_gfortran_set_args\0").fortran
    assert table_of([Symbol("MAIN__", 0x1000)], tmp_path).fortran
