"""Find the shared libraries that a program is linked with, without running its loader."""

from __future__ import annotations

import os
import platform

from incprof.errors import NoDataError
from incprof.symbols.elf.callers import HOOKS
from incprof.symbols.elf.file import DT_NEEDED, DT_RPATH, DT_RUNPATH, SHT_DYNSYM, ElfFile, is_elf, text_at

# Larger than any program's number; cycles end earlier, because no library is opened twice.
MOST_LIBRARIES = 2000


def system_directories() -> list[str]:
    """Return the loader's default directories (its cache contains little more)."""
    multiarch = f"{platform.machine()}-linux-gnu"
    found = []
    for base in ("/lib", "/usr/lib", "/usr/local/lib"):
        found += [f"{base}/{multiarch}", base.replace("lib", "lib64", 1) if base == "/lib" else f"{base}64", base]
    return found


def search_path(elf: ElfFile, inherited: list[str]) -> tuple[list[str], list[str]]:
    """Return (directories to search for the libraries of `elf`, those that its libraries inherit)."""
    origin = os.path.dirname(os.path.realpath(elf.path))

    def entries(wanted: int) -> list[str]:
        texts = [text_at(elf.dynamic_strings, value) for tag, value in elf.dynamic if tag == wanted]
        paths = [path for text in texts for path in text.split(":") if path]
        return [path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for path in paths]

    runpath, rpath = entries(DT_RUNPATH), entries(DT_RPATH)
    environment = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    handed_on = inherited if runpath else rpath + inherited
    # A RUNPATH replaces RPATH, is searched after the environment, and is not inherited.
    own = environment + runpath if runpath else rpath + inherited + environment
    return own + system_directories(), handed_on


def needed_names(elf: ElfFile) -> list[str]:
    """Return the names of the libraries that `elf` itself needs."""
    return [text_at(elf.dynamic_strings, value) for tag, value in elf.dynamic if tag == DT_NEEDED]


def locate(name: str, directories: list[str]) -> str | None:
    """Return the path of the library, or None."""
    places = [name] if "/" in name else [os.path.join(directory, name) for directory in directories]
    return next((path for path in places if is_elf(path)), None)


def imports_hook(elf: ElfFile) -> bool:
    """Return whether the library calls a profiling hook. Exporting one, as libc does, does not count."""
    return any(symbol.name in HOOKS and symbol.section == 0 for symbol in elf.symbols(SHT_DYNSYM))


def needed_libraries(program: ElfFile) -> tuple[list[str], list[str]]:
    """Return (paths of the libraries that call mcount, names of those not found), including indirectly needed ones."""
    profiled: list[str] = []
    missing: list[str] = []
    seen: set[str] = set()

    def visit(elf: ElfFile, inherited: list[str]) -> None:
        directories, handed_on = search_path(elf, inherited)
        for name in needed_names(elf):
            if name in seen or len(seen) >= MOST_LIBRARIES:
                continue
            seen.add(name)
            path = locate(name, directories)
            if path is None:
                missing.append(name)
                continue
            queue.append((path, handed_on))

    queue: list[tuple[str, list[str]]] = []
    visit(program, [])
    while queue:
        path, inherited = queue.pop(0)
        try:
            elf = ElfFile(path)
            if elf.readable:
                visit(elf, inherited)
                if imports_hook(elf):
                    profiled.append(path)
        except NoDataError:
            missing.append(path)
    return profiled, missing
