"""Find the symbols of a module.

In this order: a binary given by hand, the run's snapshot, the original file, the debug file that it names, the
distribution's, debug files downloaded by debuggers (debuginfod), and those on its servers, if DEBUGINFOD_URLS names
some.
"""

from __future__ import annotations

import contextlib
import os
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incprof.errors import NoDataError
from incprof.model import Module
from incprof.safe.inputs import HOSTILE, notice_own, open_input
from incprof.safe.jsonstore import replacing
from incprof.symbols.elf import SHT_NOBITS, ElfFile, open_elf, text_at
from incprof.symbols.elf_symbols import read_symbols
from incprof.symbols.function_table import EMPTY_TABLE, UNWIND_SIZES, SymbolTable

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


def is_original_unchanged(module: Module, directory: str) -> bool:
    """Return whether a module's file is where it was recorded, of the same build, and as complete as the run's copy."""
    copy = _opened(copy_of(module, directory), module.build_id, within=directory, or_none=True)
    original = _opened(Path(module.path), module.build_id)
    if original is None or copy is None or not module.build_id:
        return False
    kept = [section for section in copy.sections if section.type not in (SHT_NOBITS, UNWIND_SIZES) and section.name]
    original_sections = {(section.name, section.size) for section in original.sections if section.type != SHT_NOBITS}
    # Section names may differ where some were added.
    return all((section.name, section.size) in original_sections for section in kept if section.name != ".shstrtab")


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
    overrides = [open_elf(exe)] if exe is not None else []
    yield from overrides
    snapshot = copy_of(module, directory)
    # A snapshot's name contains its build; its note may have been left out.
    kept = _opened(snapshot, module.build_id, within=directory, or_none=True)
    original = _opened(Path(module.path), module.build_id)
    yield from filter(None, (kept, original))
    for elf in filter(None, (*overrides, original)):
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


def is_built_again(module: Module) -> bool:
    """Return whether another build has taken the place of a module's file; a script is no build."""
    if not module.build_id:
        return False
    try:
        return open_elf(module.path).build_id != module.build_id
    except NoDataError:
        return False


def binary_with_code(module: Module, directory: str, exe: str | None = None) -> ElfFile | None:
    """Return the first file of this module that contains its machine code; a snapshot has no data of it."""
    snapshot, in_snapshot = str(copy_of(module, directory)), None
    for elf in binaries(module, directory, exe):
        if any(section.executable and section.type != SHT_NOBITS for section in elf.sections):
            if elf.path != snapshot:
                return elf
            in_snapshot = elf
    return in_snapshot


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


# Symbol tables cached by build-id in the user's cache directory.
#
# A cache never changes a result: a damaged file is treated as absent and rewritten, and failures to write are silent.


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
    extent = "-".join(f"{size:x}" for size in sizes)
    return Path(root) / "incprof" / f"symbols-{VERSION}-{elf.build_id}-{extent}.npz"


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


# Find the debug information of a stripped file: by build-id, beside it, and on debuginfod's servers.
#
# A file names its debug file in `.gnu_debuglink`, with a checksum of it: it lies beside the program, in `.debug`
# there, or below `/usr/lib/debug` at the program's path. Servers are queried only if `DEBUGINFOD_URLS` names some.


ROOTS = (Path("/usr/lib/debug"), Path("/usr/local/lib/debug"))
SERVERS, TIMEOUT = "DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT"
SCHEMES = ("http://", "https://", "file://")
# Timeout for a silent server, as in debuginfod's own clients; and how long until it is queried again.
PATIENCE_S, AGAIN_S = 90.0, 600
LARGEST = 8 << 30
PIECE = 1 << 20

# Servers that could not be reached: they are not queried for the next file.
_unreachable: set[str] = set()


def installed(build_id: str) -> list[Path]:
    """Return debug files by build-id, from the directories of distributions and of debuginfod's clients."""
    if len(build_id) < 3:
        return []
    name = Path(build_id[:2]) / f"{build_id[2:]}.debug"
    return [*(root / ".build-id" / name for root in ROOTS), _downloaded(build_id)]


def linked(elf: ElfFile) -> Iterator[Path]:
    """Yield debug files that a file names, and whose checksum matches."""
    try:
        section = elf.section(".gnu_debuglink")
        data = elf.contents(section) if section is not None else b""
    except NoDataError:
        return
    name = text_at(data, 0)
    if len(data) < 8 or not name or "/" in name:
        return
    checksum, real = int.from_bytes(data[-4:], "little"), os.path.realpath(elf.path)
    for home in dict.fromkeys((Path(elf.path).absolute().parent, Path(real).parent)):
        for place in (home, home / ".debug", *(root / home.relative_to("/") for root in ROOTS)):
            path = place / name
            if os.path.realpath(path) != real and _checksum(path) == checksum:
                yield path


def fetched(build_id: str) -> Path | None:
    """Return the debug file of a build from the servers in DEBUGINFOD_URLS; None if there is no server or no file."""
    urls = [url for url in os.environ.get(SERVERS, "").split() if url.startswith(SCHEMES) and url not in _unreachable]
    target = _downloaded(build_id)
    if not urls or _is_missing(target):
        return None
    for url in urls:
        if _fetch(f"{url.rstrip('/')}/buildid/{build_id}/debuginfo", url, target):
            return target
    if not _unreachable.intersection(urls):
        _remember_as_missing(target)
    return None


def _downloaded(build_id: str) -> Path:
    """Return where debuginfod's clients store downloads."""
    cache_path = os.environ.get("DEBUGINFOD_CACHE_PATH")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return (Path(cache_path) if cache_path else Path(base) / "debuginfod_client") / build_id / "debuginfo"


def _checksum(path: Path) -> int | None:
    """Return the checksum of a file; None if it does not exist."""
    crc = 0
    try:
        with open_input(path) as file:
            while data := file.read(PIECE):
                crc = zlib.crc32(data, crc)
    except OSError:
        return None
    return crc


def _is_missing(target: Path) -> bool:
    """Return whether servers recently lacked it: an empty file records this."""
    try:
        status = target.stat()
    except OSError:
        return False
    return status.st_size == 0 and time.time() - status.st_mtime < AGAIN_S


def _remember_as_missing(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"")
    except OSError:
        return


def _fetch(url: str, server: str, target: Path) -> bool:
    """Download a file, if it exists."""
    from urllib.error import HTTPError  # imported here, because few runs need them
    from urllib.request import urlopen

    try:
        patience = float(os.environ.get(TIMEOUT) or PATIENCE_S)
        with urlopen(url, timeout=patience) as answer:
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as file:
                bytes_left = LARGEST
                while bytes_left > 0 and (data := answer.read(min(PIECE, bytes_left))):
                    file.write(data)
                    bytes_left -= len(data)
    except HTTPError:
        return False
    except (OSError, ValueError):
        if not url.startswith("file:"):
            _unreachable.add(server)
        return False
    return True
