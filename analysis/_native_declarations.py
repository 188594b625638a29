"""What Python calls of libincprof_native, in C, and the module that cffi makes of it.

    python -m incprof.analysis._native_declarations

writes analysis/_native_ffi.py again. The texts below are not read when a program runs.
"""

from __future__ import annotations

from pathlib import Path

COMMON = """
const char *incprof_native_version(void);
"""

# One text per kernel, in the words of its header.
DECLARATIONS = (COMMON,)


def write(path: Path) -> None:
    """Write the module, for a library that is loaded by path (ABI mode: no compiler, any Python)."""
    import cffi

    builder = cffi.FFI()
    for text in DECLARATIONS:
        builder.cdef(text)
    builder.set_source("incprof.analysis._native_ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(__file__).resolve().with_name("_native_ffi.py"))
