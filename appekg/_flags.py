"""What a compiler must be told to use libappekg: lists of words, not yet quoted for a shell."""

from __future__ import annotations

from pathlib import Path

from appekg._library import Installation


def compile_flags(found: Installation) -> list[str]:
    """For C and C++ sources."""
    return ["-I" + str(found.include)]


def link_flags(found: Installation) -> list[str]:
    """The shared library, and where the program finds it when it runs."""
    directory = str(found.directory)
    # -Wl splits at commas.
    rpath = ["-Xlinker", "-rpath", "-Xlinker", directory] if "," in directory else [f"-Wl,-rpath,{directory}"]
    return ["-L" + directory, "-lappekg", *rpath]


def static_link_flags(found: Installation) -> list[str]:
    """The static library, and what it needs where glibc is older than 2.34.

    Raises:
        FileNotFoundError: this installation has none.
    """
    if not found.archive.is_file():
        raise FileNotFoundError(f"{found.archive}: no such file; this installation has no static library")
    return [str(found.archive), "-lpthread", "-ldl"]


def fortran_flags(found: Installation, modules: Path) -> list[str]:
    """For Fortran sources: `modules` holds the compiled module. The second directory is that of the macros."""
    return ["-I" + str(modules), "-I" + str(found.fortran)]
