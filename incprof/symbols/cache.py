"""Symbol tables cached by build-id in the user's cache directory.

A cache never changes a result: a damaged file is treated as absent and rewritten, and failures to write are silent.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np

from incprof.safe.atomic import replacing
from incprof.safe.inputs import HOSTILE, notice_own, open_input
from incprof.symbols.elf.file import ElfFile
from incprof.symbols.elf_symbols import read_symbols
from incprof.symbols.table import SymbolTable

VERSION = 3
# The arrays of a table.
SECTIONS = (
    ".symtab", ".gnu_debugdata", ".dynsym", ".gopclntab", ".data.rel.ro.gopclntab", ".eh_frame_hdr", ".eh_frame",
)  # fmt: skip
# Reading a smaller table takes no longer than reading the cache.
WORTH_CACHING = 4000
DAMAGED: tuple[type[Exception], ...] = (
    *HOSTILE, KeyError, IndexError, zipfile.BadZipFile, zlib.error, NotImplementedError,
)  # fmt: skip


def cached_symbols(elf: ElfFile) -> SymbolTable:
    """Return the symbols of a file, from the cache if possible.

    Raises: NoDataError if they have to be read and the file is damaged.
    """
    path = _path(elf)
    table = _load(path) if path else None
    if table is None:
        table = read_symbols(elf)
        if path and len(table) >= WORTH_CACHING:
            _store(path, table)
    return table


def _path(elf: ElfFile) -> Path | None:
    """Return where the table is cached. Copies of one build-id differ in how much they contain: the name has it."""
    sizes = [section.size if (section := elf.section(name)) else 0 for name in SECTIONS]
    if elf.build_id is None or not any(sizes):
        return None
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    held = "-".join(f"{size:x}" for size in sizes)
    return Path(root) / "incprof" / f"symbols-{VERSION}-{elf.build_id}-{held}.npz"


def _load(path: Path) -> SymbolTable | None:
    """Return a cached table, or None if there is no usable one."""
    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as store:
            columns = {name: store[name] for name in ("address", "size", "name_end", "start", "end", "owner")}
            table = SymbolTable(
                **columns,
                names=store["names"].tobytes(),
                fortran=bool(store["flags"][0]),
                exported_only=bool(store["flags"][1]),
            )
    except DAMAGED:
        return None
    return table if _consistent(table) else None


def _consistent(table: SymbolTable) -> bool:
    """Return whether the arrays are consistent."""
    symbols = len(table.address) == len(table.size) == len(table.name_end)
    ranges = len(table.start) == len(table.end) == len(table.owner)
    if not (symbols and ranges and len(table.address)):
        return False
    owners = bool((table.owner >= 0).all() and (table.owner < len(table.address)).all())
    return owners and int(table.name_end[-1]) == len(table.names)


def _store(path: Path, table: SymbolTable) -> None:
    """Write a table atomically, so that no reader sees a part of it."""
    columns = {name: getattr(table, name) for name in ("address", "size", "name_end", "start", "end", "owner")}
    names = np.frombuffer(table.names, dtype=np.uint8)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            notice_own(path)
            np.savez(file, names=names, flags=np.array([table.fortran, table.exported_only]), **columns)
