"""Find the libraries and programs of this installation."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from incprof.errors import IncprofError


def candidates(name: str, built_in: str) -> Iterator[Path]:
    """Yield places where an installation may have put a file, the nearest first. built_in: its directory in a build."""
    package = Path(__file__).resolve().parents[1]
    yield package / "_lib" / name
    # An editable installation has the package in the checkout and the library in site-packages.
    for entry in sys.path:
        if entry:
            yield Path(entry) / "incprof" / "_lib" / name
    # Built or installed by plain CMake.
    yield package.parent / "build" / built_in / name
    machine = os.uname().machine
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        for directory in ("lib", "lib64", f"lib/{machine}-linux-gnu", "bin"):
            yield Path(prefix) / directory / name


def find_library(name: str, built_in: str, variable: str, environ: Mapping[str, str]) -> Path:
    """Return the path of a library: that of an environment variable if set, else where this package was installed.

    Raises:
        IncprofError: there is none.
    """
    override = environ.get(variable)
    if override:
        if not os.path.isfile(override):
            raise IncprofError(f"{variable}={override}: no such file; unset it, or set it to the path of {name}")
        return Path(os.path.abspath(override))
    for path in candidates(name, built_in):
        if path.is_file():
            return path
    raise IncprofError(f"{name} was not found; install incprof again, or set {variable} to its path")
