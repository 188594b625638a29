"""Which file a module's symbols come from."""

import shutil

import pytest

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.readers.run import open_run, read_profile
from incprof.symbols.symbol_files import find_symbols, module_key
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.streamwriter import BASE, BUILD_ID, STEP, Sample, StreamWriter, module

OTHER_ID = "ff" * 20


def binary(path, name, build_id=BUILD_ID, table=".symtab"):
    symbols = [Symbol(name, BASE)] if name else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(elf_bytes(symbols, build_id=build_id, text=(BASE, BASE + STEP), table=table))
    return str(path)


@pytest.fixture
def run(tmp_path):
    """A run of tmp_path/app, without snapshot or binary."""
    path = str(tmp_path / "app")
    writer = StreamWriter(["main"], exe=path, modules=[module(0, path, BUILD_ID, app=True)])
    writer.interval([Sample("main")])
    writer.end()
    directory = writer.save(tmp_path / "run")
    shutil.rmtree(directory / "symbols")
    return directory


def names(run, **options):
    return [f.name for f in read_profile(open_run(run), **options).functions]


def test_snapshot_before_the_original_path(run, tmp_path):
    binary(tmp_path / "app", "from_path")
    assert names(run) == ["from_path"]
    binary(run / "symbols" / f"{BUILD_ID}.elf", "from_snapshot")
    assert names(run) == ["from_snapshot"]


def test_binary_by_hand_before_all(run, tmp_path):
    binary(run / "symbols" / f"{BUILD_ID}.elf", "from_snapshot")
    assert names(run, exe=binary(tmp_path / "elsewhere", "by_hand")) == ["by_hand"]


def test_wrong_binary_by_hand(run, tmp_path):
    wrong = binary(tmp_path / "wrong", "other", OTHER_ID)
    with pytest.raises(NoDataError, match=f"wrong binary: its build-id is {OTHER_ID}, .* {BUILD_ID}"):
        names(run, exe=wrong)


def test_missing_binary_by_hand(run, tmp_path):
    with pytest.raises(NoDataError, match="cannot be read: No such file"):
        names(run, exe=str(tmp_path / "nothing"))


def test_rebuilt_program_is_not_used(run, tmp_path):
    binary(tmp_path / "app", "newer", OTHER_ID)
    with pytest.raises(NoDataError, match="built again since the run"):
        names(run)


def test_no_binary_at_all(run):
    with pytest.raises(NoDataError, match="neither the program nor its symbols are here: give the program with --exe"):
        names(run)


def test_stripped_program(run, tmp_path):
    stripped = binary(tmp_path / "app", None)
    with pytest.raises(NoDataError, match="is stripped"):
        names(run)
    with pytest.raises(NoDataError, match="is stripped: build with symbols"):
        names(run, exe=stripped)


def test_exported_functions_with_a_warning(run, tmp_path):
    binary(tmp_path / "app", "exported", table=".dynsym")
    profile = read_profile(open_run(run))
    assert profile.functions[0].name == "exported"
    assert profile.warnings == (
        "app is stripped: only exported functions have names, others their addresses "
        "(build with symbols, or install debug symbols)",
    )


def test_full_symbols_before_exported_ones(run, tmp_path):
    binary(run / "symbols" / f"{BUILD_ID}.elf", "exported", table=".dynsym")
    binary(tmp_path / "app", "full")
    assert names(run) == ["full"]


def test_damaged_snapshot_is_passed_over(run, tmp_path):
    binary(tmp_path / "app", "from_path")
    (run / "symbols").mkdir()
    (run / "symbols" / f"{BUILD_ID}.elf").write_bytes(b"\x7fELF rubbish")
    assert names(run) == ["from_path"]


def test_module_without_build_id_is_found_by_its_path(tmp_path):
    described = Module(0, "/opt/app", None, 0, 0, True)
    # FNV-1a, 64 bits, of "/opt/app".
    value = 0xCBF29CE484222325
    for byte in b"/opt/app":
        value = (value ^ byte) * 0x100000001B3 & (2**64 - 1)
    assert module_key(described) == f"path-{value:016x}"
    binary(tmp_path / "symbols" / f"path-{value:016x}.elf", "found", build_id=None)
    assert find_symbols(described, str(tmp_path)).table.name(0) == "found"


def test_hostile_build_id_stays_in_the_directory():
    assert module_key(Module(0, "/app", "../../etc/passwd", 0, 0, True)) == "etcpasswd"
