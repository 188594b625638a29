/* The loops over all lags, for whatever vectors the processor has. */
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

    /* run[j] counts on where past[j] is the symbol, and starts again from 0 elsewhere; it stays at DPD_RUN_MOST.
     * Not 0: a run has just come to threshold[j]. */
    uint16_t (*count)(uint16_t *run, const uint16_t *past, const uint16_t *threshold, uint16_t symbol, size_t n);

    /* Whether run[j] is threshold[j] for any j. */
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

/* The best ones for this processor; never NULL. Signal-safe. */
const struct dpd_kernels *dpd_kernels(void);

/* All that this processor can run, ending with NULL: for tests and benchmarks. */
const struct dpd_kernels *dpd_kernels_at(int i);

#endif
