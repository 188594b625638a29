"""Load libincprof_native at its first use.

`native().name(...)` is a C function; `_native_ffi.ffi` makes its arguments.
`python -m incprof.analysis._native` rewrites the C declarations, analysis/_native_ffi.py, from the C sources, which are
not read when a program runs.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from incprof import version
from incprof.analysis._native_ffi import ffi
from incprof.errors import IncprofError
from incprof.safe.installation import find_library

LIBRARY = "libincprof_native.so"
NATIVE = Path(__file__).resolve().parent / "native"
STRUCTS = ("incprof_closeness", "incprof_limit", "incprof_mpi_lane")
# Headers for users of C are parsed unchanged.
HEADERS = ("dpd.h", "dpd_values.h")


C_TYPES = {"float64": "double", "float32": "float", "bool": "uint8_t"}


def pointer(array: np.ndarray) -> Any:
    """Return a C pointer to the first of an array's contiguous numbers. The array must outlive its use."""
    name = array.dtype.name
    return ffi.from_buffer(f"{C_TYPES.get(name, f'{name}_t')}[]", array)


@functools.cache
def native() -> Any:
    """Return the C functions, as attributes. Thread-safe: if two threads both load the library, it does no harm.

    Raises:
        IncprofError: the library was not found, cannot be loaded, or belongs to another release.
    """
    path = find_library(LIBRARY, "analysis/native", "INCPROF_NATIVE_LIB", os.environ)
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


def header(path: Path) -> str:
    """Return the declarations in a header, without preprocessor lines, C++ and export attributes."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n|^#.*?$|\bDPD_API\b", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"\n{3,}", "\n\n", text)


def kernels() -> str:
    """Return the declarations of the exported kernels in C sources, after those of STRUCTS."""
    text = "\n".join(path.read_text() for path in sorted(NATIVE.glob("*.[ch]")))
    structs = [re.search(rf"^struct {name} {{.*?^}};", text, re.M | re.S) for name in STRUCTS]
    exported = re.findall(r"^NATIVE_API (.*?;)", text, re.M | re.S)
    return "\n".join([*(struct[0] for struct in structs if struct), *exported])


def write_binding(path: Path) -> None:
    """Write the module of C declarations, for a library that is loaded by path (ABI mode: no compiler, any Python)."""
    import cffi

    builder = cffi.FFI()
    for text in (kernels(), *(header(NATIVE / "include" / name) for name in HEADERS)):
        builder.cdef(text)
    builder.set_source("incprof.analysis._native_ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write_binding(Path(__file__).resolve().with_name("_native_ffi.py"))
