/* Internal definitions of the detector of magnitudes. */
#ifndef DPD_VALUES_INTERNAL_H
#define DPD_VALUES_INTERNAL_H

#include <stdbool.h>

#include "native.h"
#define DPD_API NATIVE_API
#include "dpd_values.h"
#include "dpd_internal.h"

struct dpd_values {
    const struct dpd_kernels *kernels;
    struct dpd_values_options options; /* as given, with defaults filled in */
    int32_t window, lags;              /* N; M - 1: lags 1 .. lags */
    int32_t padded;                    /* lags in whole blocks */
    int32_t have;                      /* available samples: at most N + M */
    bool inexact;                      /* sums may be rounded */
    int32_t again;                     /* lag whose sum is recomputed next, less 1 */
    uint64_t count;

    /* Lag m is element m - 1 of the sums. past[k] is the sample k before the latest: buffer + head. */
    double *sum, *distance, *buffer;
    int32_t head, buffered;

    int32_t period, to_start; /* samples until one is the first of a period; 0: the next */
    double confidence;
};

/* Return the number of complete terms of d(lag) for the available samples. */
static inline int32_t dpd_values_terms(const struct dpd_values *dpd, int32_t lag)
{
    int32_t terms = dpd->have - lag;
    return terms < 0 ? 0 : terms < dpd->window ? terms : dpd->window;
}

/* d(1) .. d(n), n > 0, whose local minima are queried in ascending order; d may have any factor. */
struct dpd_values_minima {
    const struct dpd_kernels *kernels;
    const double *d;
    int32_t n;
    double least;  /* ratio of the largest d before a minimum to that at it */
    int32_t done;  /* lags evaluated */
    double before; /* the largest d of these */
};

/* dpd_values_minima.c: return whether the largest d before a lag is larger by that ratio. */
bool dpd_values_is_after_a_rise(struct dpd_values_minima *minima, int32_t lag);

/* dpd_values_minima.c: the next minimum after a lag (of equal ones the first lag) whose d is at most `limit`, or 0. */
int32_t dpd_values_next_minimum(struct dpd_values_minima *minima, int32_t after, double limit);

/* dpd_values_rival.c: return whether another lag repeats the residual that the period leaves of the series. */
bool dpd_values_has_rival(const struct dpd_values *dpd, struct dpd_values_minima *minima, int32_t period, double most);

/* dpd_values_rival.c: return whether a lag's residual exceeds chance, in a series of which the other lag leaves only
 * noise. */
bool dpd_values_is_worse(const struct dpd_values *dpd, int32_t lag, int32_t other);

/* dpd_values_search.c: return the period shown by d(1) .. d(n), n > 0, or 0; *confidence is the largest d over its
 * own. */
int32_t dpd_values_search(const struct dpd_values *dpd, const double *d, int32_t n, double *confidence);

#endif
