/* The sliding window over a whole series: finds its periodic segments and their periods. */
#include "dtw.h"

#include "native.h"

#include <math.h>
#include <stdlib.h>

NATIVE_API int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                                const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods);
NATIVE_API int incprof_is_close(const double *pair, int64_t period, int64_t L, int manhattan,
                                const struct incprof_limit *limit);

static double mean_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

/* Return the closeness that a piece requires by its own measure: that of its window, or half of it if the piece is too
 * long for chance. */
static double own_share(double share, int64_t period)
{
    double half = (share + 1) / 2, chance = 1 - 2 / sqrt((double)period), loose = half < chance ? half : chance;
    return loose > share ? loose : share;
}

/* Return whether an instance by itself is as close to the preceding period as its window must be as a whole, because a
 * periodic window may contain a piece that is not periodic. It must also be close by its own measure, by which flat
 * pieces are not. pair: the period before the instance, and the instance. */
int incprof_is_close(const double *pair, int64_t period, int64_t L, int manhattan, const struct incprof_limit *limit)
{
    const double *before = pair, *instance = pair + period;
    double mean[2] = {mean_of(instance, period), mean_of(before, period)}, sum = 0, squares = 0, unlike = 0;
    for (int64_t i = 0; i < period; i++) {
        double step = instance[i] - before[i], one = instance[i] - mean[0], other = before[i] - mean[1];
        sum += manhattan ? (step < 0 ? -step : step) : step * step;
        squares += step * step;
        unlike += one * one + other * other;
    }
    double allowed = manhattan ? limit->distance : limit->distance * limit->distance;
    double own = own_share(limit->share, period);
    return sum * (double)L <= allowed * (double)period && unlike > 0 && squares <= own * own * unlike;
}

/* Find the instances of all periodic windows, in order: first sample and length. starts and periods hold samples /
 * shortest + 1 each. Returns their number, or -1 if out of memory. */
int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                     const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods)
{
    double *f = malloc((size_t)(2 * L) * sizeof *f);
    if (!f)
        return -1;
    int64_t found = 0;
    for (int64_t t = 0; t + 2 * L <= samples;) {
        struct incprof_limit limit = {0, 0};
        incprof_lags(x + t, L, manhattan, f);
        int64_t period = incprof_base_period(f, L, incprof_carriers(x + t + L, L), manhattan, closeness, f + L, &limit);
        for (int64_t i = 0; period && i < L / period; i++) {
            int64_t start = t + L + i * period;
            if (incprof_is_close(x + start - period, period, L, manhattan, &limit)) {
                starts[found] = start;
                periods[found++] = period;
            }
        }
        t += period ? L / period * period : slide;
    }
    free(f);
    return found;
}
