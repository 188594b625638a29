"""Detect from the program's files whether a recording can show functions of Python."""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Iterator

from incprof.errors import IncprofError
from incprof.symbols.elf.file import SHT_DYNSYM, ElfFile, Symbol, is_elf, open_elf
from incprof.symbols.elf.libraries import locate, needed_names, search_path

# Required for recognising a frame (preload/python_layout.c), and the symbol with the version since 3.11.
NEEDED = frozenset("_PyRuntime PyCode_Type PyUnicode_Type PyBytes_Type _PyEval_EvalFrameDefault".split())
VERSION = "Py_Version"
NAMED = re.compile(r"python3\.(\d+)")
OLDEST, QUALIFIED, TRIED, NEWEST = 9, 11, 13, 14
KNOWN = f"3.{OLDEST} to 3.{NEWEST}"


def python_seen(program: str | None) -> tuple[bool, str]:
    """Return whether a program's functions of Python are recorded, and a line about it.

    Args:
        program: Its path or name; None for the python3 in PATH.
    """
    path = shutil.which(program or "python3")
    if path is None:
        return False, f"{program}: not found" if program else "no python3 in PATH (only programs in Python need one)"
    if not is_elf(path):
        return False, f"{path} is a script that starts a program: record with --exe 'python3*', or ask about that one"
    try:
        minor = next((_minor(elf, symbols) for elf, symbols in _files(path) if symbols.keys() >= NEEDED), None)
    except IncprofError as error:
        return False, str(error)
    if minor is None:
        return False, f"{path}: functions of C only: it does not export what CPython's frames are found by"
    if not OLDEST <= minor <= NEWEST:
        version = f"Python 3.{minor}" if minor >= 0 else "a Python of no version"
        return False, f"{path}: {version}: functions of C only; those of Python are seen of CPython {KNOWN}"
    return True, f"{path}: Python 3.{minor}: {_how(minor)}"


def _how(minor: int) -> str:
    """Describe the support of a known version."""
    if minor < QUALIFIED:
        return "functions are seen, methods without their classes; from outside (record -p) those of C only"
    return "functions are seen" + ("" if minor <= TRIED else f", as in 3.{TRIED}; not tried")


def _files(path: str) -> Iterator[tuple[ElfFile, dict[str, Symbol]]]:
    """Yield the program and the libraries of Python that it is linked with, each with the symbols it exports."""
    program = open_elf(path)
    directories, _ = search_path(program, [])
    libraries = (locate(name, directories) for name in needed_names(program) if name.startswith("libpython"))
    for elf in (program, *(open_elf(library) for library in libraries if library)):
        yield elf, {symbol.name: symbol for symbol in elf.symbols(SHT_DYNSYM) if symbol.section}


def _minor(elf: ElfFile, symbols: dict[str, Symbol]) -> int:
    """Return the minor version of Python 3, from the symbol or the file's name; -1 if neither gives it."""
    said = symbols.get(VERSION)
    for segment in elf.segments if said is not None else ():
        if said is not None and segment.address <= said.address < segment.address + segment.size:
            word = elf.read(segment.offset + said.address - segment.address, 8)
            return int(struct.unpack("<Q", word)[0]) >> 16 & 0xFF
    named = NAMED.search(elf.path)
    return int(named[1]) if named else -1
