"""The location of libappekg and its files.

Standard library only: builds and every program's start run this code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
SONAME = "libappekg.so.1"
NOT_FOUND = f"{SONAME} was not found; install incprof again, or set APPEKG_LIB to the path of libappekg.so"


@dataclass(frozen=True)
class Installation:
    """One installation of libappekg.

    Attributes:
        library: The shared library.
    """

    library: Path

    @property
    def directory(self) -> Path:
        """The directory of the libraries, for -L and the run path."""
        return self.library.parent

    @property
    def archive(self) -> Path:
        """The static library."""
        return self.directory / "libappekg.a"

    @property
    def pkgconfig(self) -> Path:
        """Directory of appekg.pc."""
        return self.directory / "pkgconfig"

    @property
    def cmake(self) -> Path:
        """Directory of appekgConfig.cmake."""
        return self.directory / "cmake" / "appekg"

    @property
    def include(self) -> Path:
        """Directory of appekg.h."""
        return self._nearest("appekg.h", "include")

    @property
    def fortran(self) -> Path:
        """The directory of appekg.f90 and appekg_fortran.h: one of its own in a package, else that of the header."""
        return self._nearest("appekg.f90", "fortran", "include")

    def _nearest(self, file: str, *names: str) -> Path:
        """Return the directory of one of these names that holds the file: near the library's, else the package's.

        Near is beside the library's directory or one level up.
        """
        places = [above / name for above in self.directory.parents[:2] for name in names]
        return next((place for place in places if (place / file).is_file()), PACKAGE / names[0])


def candidates() -> Iterator[Path]:
    """Yield the places where an installation may have put the library, the nearest first."""
    yield PACKAGE / "_lib" / SONAME
    # An editable installation keeps the package in the checkout and the library in site-packages.
    for entry in sys.path:
        if entry:
            yield Path(entry) / "appekg" / "_lib" / SONAME
    # Built or installed by CMake alone.
    yield PACKAGE.parent / "build" / "appekg" / SONAME
    machine = os.uname().machine
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        for directory in ("lib", "lib64", f"lib/{machine}-linux-gnu"):
            yield Path(prefix) / directory / SONAME


def find(environ: Mapping[str, str]) -> Installation:
    """Return the installation to use: that of $APPEKG_LIB (path of the shared library), else the nearest.

    Raises:
        FileNotFoundError: there is none. The message has the remedy.
    """
    override = environ.get("APPEKG_LIB")
    if override:
        if not os.path.isfile(override):
            raise FileNotFoundError(f"APPEKG_LIB={override}: no such file; unset it, or set it to the path of {SONAME}")
        return Installation(Path(os.path.abspath(override)))
    for path in candidates():
        if path.is_file():
            return Installation(Path(os.path.abspath(path)))
    raise FileNotFoundError(NOT_FOUND)
