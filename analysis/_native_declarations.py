"""C declarations of the functions of libincprof_native that Python calls; cffi generates a module from them.

    python -m incprof.analysis._native_declarations

rewrites analysis/_native_ffi.py. The declarations below are not read when a program runs.
"""

from __future__ import annotations

import re
from pathlib import Path

COMMON = """
const char *incprof_native_version(void);
int incprof_roof(int is_triad, int64_t bytes, int threads, double seconds, double *per_second);
"""

PATTERNS = """
struct incprof_closeness {
    double noise;
    double theta;
    double depth;
    int64_t shortest;
};
struct incprof_limit {
    double distance, share;
};
void incprof_lags(const double *window, int64_t L, int manhattan, double *f);
double incprof_carriers(const double *half, int64_t L);
int64_t incprof_base_period(const double *f, int64_t L, double carriers, int manhattan,
                            const struct incprof_closeness *closeness, double *scratch,
                            struct incprof_limit *limit);
int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                     const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods);
int incprof_is_close(const double *pair, int64_t period, int64_t L, int manhattan,
                     const struct incprof_limit *limit);
int64_t incprof_trace(const double *x, int64_t samples, int64_t from, int forward, double *shape,
                      int64_t period, int64_t slack, double limit, double rate, int64_t *starts,
                      int64_t capacity);
int incprof_dtw_pairs(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                      const int32_t *left, const int32_t *right, int64_t pairs, double limit, int squared,
                      double *out);
int incprof_dtw_bounds(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                       const int32_t *left, const int32_t *right, int64_t pairs, int squared, double *out);
int incprof_dba_step(const double *pattern, int64_t points, const double *values, const int64_t *start,
                     const int64_t *length, int64_t series, double *sums, double *counts, double *distances);
"""

STATES = """
int incprof_states(const float *evidence, int64_t rows, int32_t states, float stay, int32_t *out);
"""

TRACES = """
struct incprof_mpi_lane {
    int64_t end_ns;
    int32_t last, shapes, bad, most;
    int64_t *gap, *duration, *key_at, *key_length;
    int32_t *follower;
    uint8_t *is_timed;
};
int64_t incprof_mpi_events(struct incprof_mpi_lane *lane, const uint8_t *payload, int64_t length, int64_t *at,
                           int64_t room, int32_t *shape, int64_t *start_ns, int64_t *end_ns,
                           int64_t *work_ns);
"""

# One text per kernel, copied from its header.
DECLARATIONS = (COMMON, PATTERNS, STATES, TRACES)
# Headers for users of C are parsed unchanged.
HEADERS = ("dpd.h", "dpd_values.h")


def header(path: Path) -> str:
    """Return the declarations in a header, without preprocessor lines, C++ and export attributes."""
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n|^#.*?$|\bDPD_API\b", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"\n{3,}", "\n\n", text)


def write(path: Path) -> None:
    """Write the module, for a library that is loaded by path (ABI mode: no compiler, any Python)."""
    import cffi

    builder = cffi.FFI()
    for text in DECLARATIONS:
        builder.cdef(text)
    for name in HEADERS:
        builder.cdef(header(Path(__file__).resolve().parent / "native" / "include" / name))
    builder.set_source("incprof.analysis._native_ffi", None)
    builder.emit_python_code(str(path))


if __name__ == "__main__":
    write(Path(__file__).resolve().with_name("_native_ffi.py"))
