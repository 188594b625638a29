"""Where the symbols of a module come from.

In this order: a binary given by hand, the run's snapshot, the original file, the distribution's separate debug file,
and what debuggers have fetched (debuginfod).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incprof.elf.file import SHT_NOBITS, ElfFile, open_elf
from incprof.errors import NoDataError
from incprof.model import Module
from incprof.readers.symbols.cache import cached_symbols
from incprof.readers.symbols.table import EMPTY_TABLE, SymbolTable

DEBUG_ROOTS = (Path("/usr/lib/debug/.build-id"), Path("/usr/local/lib/debug/.build-id"))
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


@dataclass(frozen=True)
class ModuleSymbols:
    """A module's symbols and the file that they were read from (None: nothing was found)."""

    table: SymbolTable
    path: str | None


def downloaded() -> Path:
    """Where debuginfod's clients keep what they have fetched."""
    given = os.environ.get("DEBUGINFOD_CACHE_PATH")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given) if given else Path(base) / "debuginfod_client"


def module_key(module: Module) -> str:
    """Name of the module's files below symbols/, without the suffix."""
    if module.build_id:
        # The build-id comes from the recording: it must not lead out of the directory.
        return "".join(c for c in module.build_id if c.isalnum())[:80]
    value = FNV_OFFSET
    for byte in module.path.encode("utf-8", "surrogateescape"):
        value = (value ^ byte) * FNV_PRIME % 2**64
    return f"path-{value:016x}"


def find_symbols(module: Module, directory: str, exe: str | None = None) -> ModuleSymbols:
    """The best symbols there are: full ones from the first file that has them, else exported ones, else none.

    Raises: NoDataError when `exe` is not the program that was recorded, cannot be read, or is stripped.
    """
    if exe is not None:
        return _explicit(module, exe)
    best = ModuleSymbols(EMPTY_TABLE, None)
    for elf in binaries(module, directory):
        try:
            table = cached_symbols(elf)
        except NoDataError:
            continue
        if len(table) and not table.exported_only:
            return ModuleSymbols(table, elf.path)
        if len(table) > len(best.table):
            best = ModuleSymbols(table, elf.path)
    return best


def binaries(module: Module, directory: str, exe: str | None = None) -> Iterator[ElfFile]:
    """Files that hold this very module, best first. Those that cannot be read or are of another build are left out."""
    if exe is not None:
        yield open_elf(exe)
    snapshot = Path(directory) / "symbols" / f"{module_key(module)}.elf"
    paths = [snapshot, Path(module.path)]
    if module.build_id and len(module.build_id) > 2:
        paths += [root / module_key(module)[:2] / f"{module_key(module)[2:]}.debug" for root in DEBUG_ROOTS]
        paths.append(downloaded() / module_key(module) / "debuginfo")
    for path in paths:
        try:
            elf = open_elf(str(path), within=directory if path == snapshot else None)
        except NoDataError:
            continue
        # A snapshot's name says which build it is of; its note may have been left out.
        if elf.build_id == module.build_id or (path == snapshot and elf.build_id is None):
            yield elf


def binary_with_code(module: Module, directory: str, exe: str | None = None) -> ElfFile | None:
    """The first file of this module that holds its machine code: a run's snapshot does not."""
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
