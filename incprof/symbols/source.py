"""Find the symbols of a module.

In this order: a binary given by hand, the run's snapshot, the original file, the debug file that it names, the
distribution's, debug files downloaded by debuggers (debuginfod), and those on its servers, if DEBUGINFOD_URLS names
some.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.symbols.cache import cached_symbols
from incprof.symbols.debug_files import fetched, installed, linked
from incprof.symbols.elf.file import SHT_NOBITS, ElfFile, open_elf
from incprof.symbols.table import EMPTY_TABLE, SymbolTable
from incprof.symbols.unwind_ranges import UNWIND_SIZES

# Sections that name functions which are not exported.
ALL_FUNCTIONS = (".symtab", ".gnu_debugdata", ".gopclntab", ".data.rel.ro.gopclntab")
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@dataclass(frozen=True)
class ModuleSymbols:
    """A module's symbols and the file that they were read from (None: none was found)."""

    table: SymbolTable
    path: str | None


def module_key(module: Module) -> str:
    """Return the name of the module's files below symbols/, without the suffix."""
    if module.build_id:
        # The build-id comes from the recording: it must not lead out of the directory.
        return "".join(c for c in module.build_id if c.isalnum())[:80]
    value = FNV_OFFSET
    for byte in module.path.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * FNV_PRIME % 2**64
    return f"path-{value:016x}"


def copy_of(module: Module, directory: str) -> Path:
    """Return where a run stores the symbols of a module."""
    return Path(directory) / "symbols" / f"{module_key(module)}.elf"


def same_elsewhere(module: Module, directory: str) -> bool:
    """Return whether a module's file is where it was recorded, of the same build, and as complete as the run's copy."""
    copy = _opened(copy_of(module, directory), module.build_id, within=directory, or_none=True)
    original = _opened(Path(module.path), module.build_id)
    if original is None or copy is None or not module.build_id:
        return False
    kept = [section for section in copy.sections if section.type not in (SHT_NOBITS, UNWIND_SIZES) and section.name]
    there = {(section.name, section.size) for section in original.sections if section.type != SHT_NOBITS}
    # Section names may differ where some were added.
    return all((section.name, section.size) in there for section in kept if section.name != ".shstrtab")


def find_symbols(module: Module, directory: str, exe: str | None = None) -> ModuleSymbols:
    """Return the best available symbols: full ones from the first file that has them, else exported ones, else none.

    Raises: NoDataError if `exe` is not the recorded program, cannot be read, or is stripped.
    """
    if exe is not None:
        return _explicit(module, exe)
    best = ModuleSymbols(EMPTY_TABLE, None)
    for elf in binaries(module, directory, fetch=True):
        if len(best.table) and not any(elf.section(name) for name in ALL_FUNCTIONS):
            continue  # Its exported symbols are known already.
        try:
            table = cached_symbols(elf)
        except NoDataError:
            continue
        if len(table) and not table.exported_only:
            return ModuleSymbols(table, elf.path)
        if len(table) > len(best.table):
            best = ModuleSymbols(table, elf.path)
    return best


def binaries(module: Module, directory: str, exe: str | None = None, *, fetch: bool = False) -> Iterator[ElfFile]:
    """Yield files of exactly this module, best first. Unreadable files and those of another build are left out.

    fetch: as a last resort, query the servers in DEBUGINFOD_URLS.
    """
    given = [open_elf(exe)] if exe is not None else []
    yield from given
    snapshot = copy_of(module, directory)
    # A snapshot's name contains its build; its note may have been left out.
    kept = _opened(snapshot, module.build_id, within=directory, or_none=True)
    original = _opened(Path(module.path), module.build_id)
    yield from filter(None, (kept, original))
    for elf in filter(None, (*given, original)):
        # Without a build-id, the checksum identifies the file.
        yield from filter(None, (_opened(path, module.build_id, or_none=True) for path in linked(elf)))
    build_id = module_key(module) if module.build_id else ""
    yield from filter(None, (_opened(path, module.build_id) for path in installed(build_id)))
    if fetch and build_id and module.path.startswith("/") and (path := fetched(build_id)):
        yield from filter(None, [_opened(path, module.build_id)])


def _opened(path: Path, build_id: str | None, *, within: str | None = None, or_none: bool = False) -> ElfFile | None:
    """Open a file of this build; if `or_none`, also one without a build-id."""
    try:
        elf = open_elf(str(path), within=within)
    except NoDataError:
        return None
    return elf if elf.build_id == build_id or (or_none and elf.build_id is None) else None


def binary_with_code(module: Module, directory: str, exe: str | None = None) -> ElfFile | None:
    """Return the first file of this module that contains its machine code: a run's snapshot does not."""
    for elf in binaries(module, directory, exe):
        if any(section.executable and section.type != SHT_NOBITS for section in elf.sections):
            return elf
    return None


def _explicit(module: Module, exe: str) -> ModuleSymbols:
    elf = open_elf(exe)
    if module.build_id and elf.build_id and module.build_id != elf.build_id:
        raise NoDataError(
            f"{exe}: wrong binary: its build-id is {elf.build_id}, the recorded program's is {module.build_id}"
        )
    table = cached_symbols(elf)
    if not len(table):
        raise NoDataError(f"{exe} is stripped: build with symbols, or give an unstripped copy with --exe")
    return ModuleSymbols(table, exe)
