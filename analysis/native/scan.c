/* The sliding window over a whole series: where it is periodic, and with which period. */
#include "lags.h"

#include "native.h"

#include <stdlib.h>

NATIVE_API int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                                const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods);

/* For each periodic window the first sample of its first instance and the period; L / period instances follow each
 * other from there. starts and periods hold samples / (L / 2) + 1 each. Returns how many, or -1 without memory. */
int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                     const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods)
{
    double *f = malloc((size_t)(2 * L) * sizeof *f);
    if (!f)
        return -1;
    int64_t found = 0;
    for (int64_t t = 0; t + 2 * L <= samples;) {
        incprof_lags(x + t, L, manhattan, f);
        int64_t period = incprof_base_period(f, L, incprof_carriers(x + t + L, L), manhattan, closeness, f + L);
        if (!period) {
            t += slide;
            continue;
        }
        starts[found] = t + L;
        periods[found++] = period;
        t += L / period * period;
    }
    free(f);
    return found;
}
