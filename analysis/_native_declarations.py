"""C declarations of the functions of libincprof_native that Python calls; cffi generates a module from them.

    python -m incprof.analysis._native_declarations

rewrites analysis/_native_ffi.py from the C sources beside it, which are not read when a program runs.
"""

from __future__ import annotations

import re
from pathlib import Path

NATIVE = Path(__file__).resolve().parent / "native"
STRUCTS = ("incprof_closeness", "incprof_limit", "incprof_mpi_lane")
# Headers for users of C are parsed unchanged.
HEADERS = ("dpd.h", "dpd_values.h")


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


def write(path: Path) -> None:
    """Write the module, for a library that is loaded by path (ABI mode: no compiler, any Python)."""
    import cffi

    builder = cffi.FFI()
    for text in (kernels(), *(header(NATIVE / "include" / name) for name in HEADERS)):
        builder.cdef(text)
    builder.set_source("incprof.analysis._native_ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(__file__).resolve().with_name("_native_ffi.py"))
