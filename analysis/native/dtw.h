/* What the kernels of dynamic time warping share. Lengths are at least 1, values finite and below 1e100. */
#ifndef INCPROF_NATIVE_DTW_H
#define INCPROF_NATIVE_DTW_H

#include <stdint.h>

/* Alignments that are done at once: enough to hide the latency of a row's chain of additions. */
enum { LANES = 32 };

/* Larger than any distance, and finite: the kernels are compiled without infinities. */
#define INCPROF_FAR 1e300

#define ALWAYS_INLINE __attribute__((always_inline)) inline

/* Compiled for several processors; the loader picks one. Levels are known to GCC 12 and later; names of extensions to
 * GCC 8 and to clang 22, 14 knows neither. */
#if !defined(__x86_64__) || !defined(__gnu_linux__) || (defined(__clang__) && __clang_major__ < 22)
#define CLONES
#elif defined(__clang__) || __GNUC__ < 12
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

/* Before a loop over lanes: clang would unroll it into code for one lane after the other. */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize_width(32) interleave(disable) unroll(disable)")
#else
#define EACH_LANE
#endif

/* One lane of a batch: out[i * LANES + lane] = values[i], and the last value from length to padded. */
void incprof_interleave(const double *values, int64_t length, int64_t padded, int lane, double *out);

/* Where a row is broken off, in every lane: the cell before the next one, and the one above that. */
struct incprof_edge {
    double left[LANES], diagonal[LANES];
};

/* Begin a row: what is to the left of it, and above that, costs too much, but for the corner of the first row. */
void incprof_begin_row(int64_t i, struct incprof_edge *edge);

/* Do the columns from .. to - 1 of the next row of every lane; row holds the row before. a: a value of each lane. */
void incprof_row(const double *a, const double *b, double *row, int64_t from, int64_t to, struct incprof_edge *edge,
                 int squared);

/* The columns of a row in which some lane is not beyond its limit. */
struct incprof_reach {
    int64_t low, high;
};

/* Whether a cell is beyond the limits of all lanes. */
int incprof_beyond(const double *cell, const double *limits);

/* Give up the columns at both ends of a row that are beyond the limits of all lanes; `end` columns of it were done.
 *
 * What lies on an alignment within the limit has cells within it only, since costs only grow. So a cell beyond it may
 * hold any value beyond it, also one of an earlier row. */
void incprof_narrow(const double *row, int64_t end, const double *limits, struct incprof_reach *reach);

/* Columns by which a row is done beyond the reach of the row before, at a time. */
enum { BEYOND_REACH = 8 };

/* An upper bound of the distance of each lane, INCPROF_FAR where there is none: the best alignment in a narrow band
 * around the diagonal. a and b are interleaved; row is scratch of columns * LANES. */
void incprof_upper_bounds(const double *a, int64_t rows, const double *b, int64_t columns, const int64_t *rows_of,
                          const int64_t *columns_of, int lanes, double *row, int squared, double *bounds);

#endif
