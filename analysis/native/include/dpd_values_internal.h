/* A detector of magnitudes, as its parts know it. */
#ifndef DPD_VALUES_INTERNAL_H
#define DPD_VALUES_INTERNAL_H

#include <stdbool.h>

#include "native.h"
#define DPD_API NATIVE_API
#include "dpd_values.h"
#include "dpd_kernels.h"

struct dpd_values {
    const struct dpd_kernels *kernels;
    struct dpd_values_options options; /* as given, defaults filled in */
    int32_t window, lags;              /* N; M - 1: lags 1 .. lags */
    int32_t padded;                    /* lags in whole blocks */
    int32_t have;                      /* samples at hand: at most N + M */
    bool inexact;                      /* sums may be rounded */
    int32_t again;                     /* lag whose sum is made again next, less 1 */
    uint64_t count;

    /* Lag m is element m - 1 of the sums. past[k] is the sample k before the latest: buffer + head. */
    double *sum, *distance, *buffer;
    int32_t head, buffered;

    int32_t period, to_start; /* samples until one is the first of a period; 0: the next */
    double confidence;
};

/* Whole terms of d(lag): the samples at hand reach so far. */
static inline int32_t dpd_values_terms(const struct dpd_values *dpd, int32_t lag)
{
    int32_t terms = dpd->have - lag;
    return terms < 0 ? 0 : terms < dpd->window ? terms : dpd->window;
}

/* dpd_values_search.c: the period that d(1) .. d(n), n > 0, show, or 0; *confidence is the largest d over its own. What
 * counts are ratios: d may have any factor. */
int32_t dpd_values_search(const struct dpd_kernels *kernels, const double *d, int32_t n, double least,
                          double *confidence);

#endif
