/* Loops over all lags, for the processor's vector instructions. */
#ifndef DPD_KERNELS_H
#define DPD_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Arrays of lags are padded to whole blocks and aligned to DPD_ALIGN bytes, `past` excepted. */
#define DPD_BLOCK 32
#define DPD_ALIGN 64
#define DPD_RUN_MOST 65534
#define DPD_NEVER 65535 /* a threshold that no run reaches */

struct dpd_kernels {
    const char *name;

    /* Increments run[j] if past[j] is the symbol, and sets it to 0 otherwise; it saturates at DPD_RUN_MOST. Returns
     * non-zero if a run has just reached threshold[j]. */
    uint16_t (*count)(uint16_t *run, const uint16_t *past, const uint16_t *threshold, uint16_t symbol, size_t n);

    /* Returns whether run[j] equals threshold[j] for any j. */
    uint16_t (*meets)(const uint16_t *run, const uint16_t *threshold, size_t n);

    /* Largest of run[0 .. n - 1]. */
    uint16_t (*longest)(const uint16_t *run, size_t n);

    /* sum[j] += |x - near[j]| - |y - far[j]|. */
    void (*distances)(double *sum, const double *near, const double *far, double x, double y, size_t n);

    /* Largest of d[0 .. n - 1] and `least`; no NaN, none negative by more than rounding. */
    double (*largest)(const double *d, size_t n, double least);

    /* Sum of |a[j] - b[j]|. */
    double (*distance)(const double *a, const double *b, size_t n);
};

/* Return the best kernels for this processor; never NULL. Signal-safe. */
const struct dpd_kernels *dpd_kernels(void);

/* Return the i-th kernels that this processor supports, NULL behind the last: for tests and benchmarks. */
const struct dpd_kernels *dpd_kernels_at(int i);

#endif
