/* How a window's right half differs from itself, shifted; shared by the scan and its callers. */
#ifndef INCPROF_NATIVE_LAGS_H
#define INCPROF_NATIVE_LAGS_H

#include <stdint.h>

struct incprof_closeness {
    double noise;     /* standard deviation of the noise of one sample */
    double theta;     /* greatest dip, as a share of the usual distance; 0: by noise and chance */
    double depth;     /* a family member reaches this share of the deepest dip */
    int64_t shortest; /* shortest period */
};

/* The greatest distance that is close, and as a share of the usual one. */
struct incprof_limit {
    double distance, share;
};

/* f[k-1] for k in 1 .. L: the distance of window[L .. 2L-1] from window[L-k .. 2L-k-1]. manhattan: sum of magnitudes,
 * else the Euclidean distance. */
void incprof_lags(const double *window, int64_t L, int manhattan, double *f);

/* How many values carry the variance of a half window: about L, or 3 for one that is flat but for a spike. */
double incprof_carriers(const double *half, int64_t L);

/* The base period of a window whose distances are f (L of them), or 0. scratch holds L values. *limit becomes
 * what was close. */
int64_t incprof_base_period(const double *f, int64_t L, double carriers, int manhattan,
                            const struct incprof_closeness *closeness, double *scratch, struct incprof_limit *limit);

#endif
