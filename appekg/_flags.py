"""Compiler flags for libappekg: lists of words, not yet quoted for a shell."""

from __future__ import annotations

from pathlib import Path

from appekg._library import Installation


def compile_flags(installation: Installation) -> list[str]:
    """Return the flags for C and C++ sources."""
    return ["-I" + str(installation.include)]


def link_flags(installation: Installation) -> list[str]:
    """Return the flags for the shared library, with its run path."""
    directory = str(installation.directory)
    # -Wl splits at commas.
    rpath = ["-Xlinker", "-rpath", "-Xlinker", directory] if "," in directory else [f"-Wl,-rpath,{directory}"]
    return ["-L" + directory, "-lappekg", *rpath]


def static_link_flags(installation: Installation) -> list[str]:
    """Return the flags for the static library, and for what it needs with a glibc older than 2.34.

    Raises:
        FileNotFoundError: this installation has none.
    """
    if not installation.archive.is_file():
        raise FileNotFoundError(f"{installation.archive}: no such file; this installation has no static library")
    return [str(installation.archive), "-lpthread", "-ldl"]


def fortran_flags(installation: Installation, modules: Path) -> list[str]:
    """Return the flags for Fortran sources: `modules` holds the compiled module, the second directory the macros."""
    return ["-I" + str(modules), "-I" + str(installation.fortran)]
