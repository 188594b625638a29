/* Definitions shared by the kernels of dynamic time warping. Lengths are at least 1, values finite and below 1e100. */
#ifndef INCPROF_NATIVE_DTW_H
#define INCPROF_NATIVE_DTW_H

#include <stdint.h>

/* Alignments computed at once: enough to hide the latency of a row's chain of additions. */
enum { LANES = 32 };

/* Larger than any distance, and finite: the kernels are compiled without infinities. */
#define INCPROF_FAR 1e300

#define ALWAYS_INLINE __attribute__((always_inline)) inline

/* Compiled for several processors; the loader picks one. GCC 12 and later support level names; GCC 8 and clang 22
 * support names of extensions, clang 14 neither. */
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

/* The state at the end of a partial row, in every lane: the cell before the next one, and the one above that. */
struct incprof_edge {
    double left[LANES], diagonal[LANES];
};

/* Begin a row: the cells to its left, and above those, cost too much, except the corner of the first row. */
void incprof_begin_row(int64_t i, struct incprof_edge *edge);

/* Compute the columns from .. to - 1 of the next row of every lane; row holds the previous row. a: a value of each
 * lane. */
void incprof_row(const double *a, const double *b, double *row, int64_t from, int64_t to, struct incprof_edge *edge,
                 int squared);

/* The columns of a row in which some lane is within its limit. */
struct incprof_reach {
    int64_t low, high;
};

/* Return whether a cell is beyond the limits of all lanes. */
int incprof_beyond(const double *cell, const double *limits);

/* Drop the columns at both ends of a row that are beyond the limits of all lanes; `end` columns of it have been
 * computed.
 *
 * An alignment within the limit has only cells within it, since costs only grow. So a cell beyond it may hold any value
 * beyond it, even one of an earlier row. */
void incprof_narrow(const double *row, int64_t end, const double *limits, struct incprof_reach *reach);

/* Number of columns at a time by which a row extends beyond the reach of the previous row. */
enum { BEYOND_REACH = 8 };

/* Compute an upper bound of the distance of each lane, INCPROF_FAR if there is none: the best alignment in a narrow
 * band around the diagonal. a and b are interleaved; row is scratch of columns * LANES. */
void incprof_upper_bounds(const double *a, int64_t rows, const double *b, int64_t columns, const int64_t *rows_of,
                          const int64_t *columns_of, int lanes, double *row, int squared, double *bounds);

/* Criteria for the distances between a window's right half and its shifted copies; shared by the scan and its
 * callers. */
struct incprof_closeness {
    double noise;     /* standard deviation of the noise of one sample */
    double theta;     /* highest dip, as a share of the usual distance; 0: derived from noise and chance */
    double depth;     /* a family member reaches this share of the deepest dip */
    int64_t shortest; /* shortest period */
};

/* The largest distance that counts as close, also as a share of the usual one. */
struct incprof_limit {
    double distance, share;
};

/* Compute f[k-1] for k in 1 .. L: the distance of window[L .. 2L-1] from window[L-k .. 2L-k-1]. manhattan: sum of
 * magnitudes, otherwise the Euclidean distance. */
void incprof_lags(const double *window, int64_t L, int manhattan, double *f);

/* Return the number of values that carry the variance of a half window: about L, or 3 for one that is flat except for a
 * spike. */
double incprof_carriers(const double *half, int64_t L);

/* Return the base period of a window with distances f (L values), or 0. scratch holds L values. *limit receives the
 * limit of closeness. */
int64_t incprof_base_period(const double *f, int64_t L, double carriers, int manhattan,
                            const struct incprof_closeness *closeness, double *scratch, struct incprof_limit *limit);

#endif
