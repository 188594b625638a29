"""Load libincprof_native at its first use.

`from incprof.analysis._native import ffi, native`; then `native().name(...)` is a C function.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from incprof import version
from incprof.analysis._native_ffi import ffi as ffi
from incprof.errors import IncprofError

LIBRARY = "libincprof_native.so"


def candidates() -> Iterator[Path]:
    """Yield the paths where an installation may have put the library, nearest first."""
    package = Path(version.__file__).resolve().parent
    yield package / "_lib" / LIBRARY
    # An editable installation keeps the package in the checkout and the library in site-packages.
    for entry in sys.path:
        if entry:
            yield Path(entry) / "incprof" / "_lib" / LIBRARY
    # A plain CMake build or installation.
    yield package.parent / "build" / "analysis" / "native" / LIBRARY
    machine = os.uname().machine
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        for directory in ("lib", "lib64", f"lib/{machine}-linux-gnu"):
            yield Path(prefix) / directory / LIBRARY


def find(environ: Mapping[str, str]) -> Path:
    """Return the path of the library: $INCPROF_NATIVE_LIB if set, else where this package is installed.

    Raises:
        IncprofError: the library was not found.
    """
    override = environ.get("INCPROF_NATIVE_LIB")
    if override:
        if not os.path.isfile(override):
            raise IncprofError(
                f"INCPROF_NATIVE_LIB={override}: no such file; unset it, or set it to the path of {LIBRARY}"
            )
        return Path(os.path.abspath(override))
    for path in candidates():
        if path.is_file():
            return path
    raise IncprofError(f"{LIBRARY} was not found; install incprof again, or set INCPROF_NATIVE_LIB to its path")


@functools.cache
def native() -> Any:
    """Return the C functions, as attributes. Thread-safe: if two threads both load the library, it does no harm.

    Raises:
        IncprofError: the library was not found, cannot be loaded, or belongs to another release.
    """
    path = find(os.environ)
    try:
        loaded = ffi.dlopen(str(path), os.RTLD_NOW)
        release = ffi.string(loaded.incprof_native_version()).decode()
    except (OSError, AttributeError, ffi.error) as error:
        raise IncprofError(f"{path} cannot be loaded: {error}; install incprof again") from None
    if release != version.__version__:
        raise IncprofError(
            f"{path} is of release {release}, and this package of {version.__version__}; install incprof again"
        )
    return loaded
