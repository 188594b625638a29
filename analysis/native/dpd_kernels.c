/* Plain loops, compiled for several processors: the compiler vectorises them, and the processor is detected once. */
#include "dpd_internal.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define VECTORS
#define WIDE "avx512bw,avx512vl,avx512dq"
#else
#define VECTORS __attribute__((optimize("O3")))
#if __GNUC__ >= 10 /* earlier versions do not support it per function */
#define WIDE "avx512bw,avx512vl,avx512dq,prefer-vector-width=512"
#else
#define WIDE "avx512bw,avx512vl,avx512dq"
#endif
#endif

INLINE uint16_t count(uint16_t *restrict run, const uint16_t *restrict past, const uint16_t *restrict threshold,
                      uint16_t symbol, size_t n)
{
    uint16_t reached = 0;
    run = __builtin_assume_aligned(run, DPD_ALIGN);
    threshold = __builtin_assume_aligned(threshold, DPD_ALIGN);
    n -= n % DPD_BLOCK;
    for (size_t j = 0; j < n; j++) {
        uint16_t kept = run[j] < DPD_RUN_MOST - 1 ? run[j] : DPD_RUN_MOST - 1;
        uint16_t now = past[j] == symbol ? (uint16_t)(kept + 1) : 0;
        run[j] = now;
        reached |= (uint16_t)-(now == threshold[j]);
    }
    return reached;
}

INLINE uint16_t meets(const uint16_t *restrict run, const uint16_t *restrict threshold, size_t n)
{
    uint16_t met = 0;
    run = __builtin_assume_aligned(run, DPD_ALIGN);
    threshold = __builtin_assume_aligned(threshold, DPD_ALIGN);
    n -= n % DPD_BLOCK;
    for (size_t j = 0; j < n; j++)
        met |= (uint16_t)-(run[j] == threshold[j]);
    return met;
}

INLINE uint16_t longest(const uint16_t *restrict run, size_t n)
{
    uint16_t most = 0;
    run = __builtin_assume_aligned(run, DPD_ALIGN);
    for (size_t j = 0; j < n; j++)
        most = run[j] > most ? run[j] : most;
    return most;
}

/* The same order on every processor gives identical sums, and exact ones for integers. */
INLINE void distances(double *restrict sum, const double *restrict near, const double *restrict far, double x, double y,
                      size_t n)
{
    sum = __builtin_assume_aligned(sum, DPD_ALIGN);
    n -= n % DPD_BLOCK;
    for (size_t j = 0; j < n; j++)
        sum[j] = (sum[j] + fabs(x - near[j])) - fabs(y - far[j]);
}

/* Non-negative doubles have the order of their bits, which integer vectors can compare. */
typedef int64_t __attribute__((may_alias)) bits;

INLINE double largest(const double *restrict d, size_t n, double least)
{
    const bits *restrict given = (const bits *)d;
    int64_t most;
    memcpy(&most, &least, sizeof most);
    for (size_t j = 0; j < n; j++)
        most = given[j] > most ? given[j] : most;
    memcpy(&least, &most, sizeof least);
    return least;
}

/* LANES partial sums: an order that vectors of any length preserve. */
#define LANES 8

INLINE double distance(const double *restrict a, const double *restrict b, size_t n)
{
    double sums[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += fabs(a[j + lane] - b[j + lane]);
    for (; j < n; j++)
        sums[j % LANES] += fabs(a[j] - b[j]);
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

#define MAKE(suffix, attributes)                                                                                       \
    attributes static uint16_t count_##suffix(uint16_t *run, const uint16_t *past, const uint16_t *threshold,          \
                                              uint16_t symbol, size_t n)                                               \
    {                                                                                                                  \
        return count(run, past, threshold, symbol, n);                                                                 \
    }                                                                                                                  \
    attributes static uint16_t meets_##suffix(const uint16_t *run, const uint16_t *threshold, size_t n)                \
    {                                                                                                                  \
        return meets(run, threshold, n);                                                                               \
    }                                                                                                                  \
    attributes static double largest_##suffix(const double *d, size_t n, double least)                                 \
    {                                                                                                                  \
        return largest(d, n, least);                                                                                   \
    }                                                                                                                  \
    attributes static uint16_t longest_##suffix(const uint16_t *run, size_t n)                                         \
    {                                                                                                                  \
        return longest(run, n);                                                                                        \
    }                                                                                                                  \
    attributes static void distances_##suffix(double *sum, const double *near, const double *far, double x, double y,  \
                                              size_t n)                                                                \
    {                                                                                                                  \
        distances(sum, near, far, x, y, n);                                                                            \
    }                                                                                                                  \
    attributes static double distance_##suffix(const double *a, const double *b, size_t n)                             \
    {                                                                                                                  \
        return distance(a, b, n);                                                                                      \
    }                                                                                                                  \
    static const struct dpd_kernels suffix = {                                                                         \
        .name = #suffix,                                                                                               \
        .count = count_##suffix,                                                                                       \
        .meets = meets_##suffix,                                                                                       \
        .longest = longest_##suffix,                                                                                   \
        .distances = distances_##suffix,                                                                               \
        .largest = largest_##suffix,                                                                                   \
        .distance = distance_##suffix,                                                                                 \
    };

MAKE(baseline, VECTORS)

#ifdef __x86_64__
MAKE(avx2, VECTORS __attribute__((target("avx2"))))
MAKE(avx512, VECTORS __attribute__((target(WIDE))))
#endif

const struct dpd_kernels *dpd_kernels_at(int i)
{
    int at = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && at++ == i)
        return &avx512;
    if (__builtin_cpu_supports("avx2") && at++ == i)
        return &avx2;
#endif
    return at == i ? &baseline : NULL;
}

const struct dpd_kernels *dpd_kernels(void)
{
    return dpd_kernels_at(0);
}
