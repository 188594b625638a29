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

#endif
