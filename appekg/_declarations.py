"""The part of appekg.h that the Python binding calls, in C, and the generator of its cffi module.

    python -m appekg._declarations

writes appekg/_ffi.py. The text below is not read at run time.
"""

from __future__ import annotations

from pathlib import Path

DECLARATIONS = """
struct ekg_options {
    const char *directory;
    const char *sinks;
    double interval_s;
    uint32_t rate_factor;
    uint32_t start_off;
    uint64_t reserved[8];
};
int ekg_init(const struct ekg_options *options);
void ekg_finalize(void);
void ekg_begin(uint32_t id);
void ekg_end(uint32_t id);
void ekg_pulse(uint32_t id);
void ekg_name(uint32_t id, const char *name);
void ekg_rate(uint32_t id, uint32_t factor);
void ekg_enable(void);
void ekg_disable(void);
int ekg_is_enabled(void);
int ekg_cost(double *pair_ns, double *skipped_ns);
"""


def write(path: Path) -> None:
    """Write the module, for a library that is loaded by path (ABI mode: no compiler, any Python)."""
    import cffi

    builder = cffi.FFI()
    builder.cdef(DECLARATIONS)
    builder.set_source("appekg._ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(__file__).with_name("_ffi.py"))
