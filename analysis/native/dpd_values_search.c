/* Search for the period in d(m): the smallest lag at whose multiples d is as low as its lowest local minimum. */
#include "dpd_internal.h"

#include <math.h>
#include <stdlib.h>

/* Share of the range from the lowest minimum to the largest d: the limit of d at a multiple of the period, which noise,
 * an odd sample, jitter, or a fractional period raises. */
#define AS_DEEP 0.2
#define BETWEEN 0.1 /* the same for a lag next to a fractional period */
/* Number of standard errors of d. */
#define ERRORS 3
/* Share of the largest d: a smaller d is rounding, and the series repeats exactly. */
#define ROUNDING 1e-9
/* Limit of the growth of d at twice the period: it is 1.41 if periods jitter, 2 if two frequencies diverge. */
#define GROWTH 1.6
#define GROWTH_FLOOR 0.05 /* of the largest d */

/* For a period above half of the lags its double is not available, so it requires more confidence, by this factor. */
#define UNSEEN 1.6

/* Return the first of the lowest minima; 0: there is none. */
static int32_t lowest_minimum(struct dpd_values_minima minima, double most)
{
    int32_t lowest = 0;
    double limit = most / minima.least;
    for (int32_t lag = 1; (lag = dpd_values_next_minimum(&minima, lag, limit)) != 0;)
        if (lowest == 0 || minima.d[lag - 1] < minima.d[lowest - 1]) {
            lowest = lag;
            limit = minima.d[lag - 1];
        }
    return lowest;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Return the deepest lag in low .. high. */
static int32_t deepest(const double *d, int32_t low, int32_t high)
{
    int32_t best = low;
    for (int32_t lag = low + 1; lag <= high; lag++)
        best = d[lag - 1] < d[best - 1] ? lag : best;
    return best;
}

/* Return whether d is low at, or near, each i / parts of `lowest`. */
static bool repeats(const double *d, int32_t lowest, int32_t parts, double limit)
{
    int32_t slack = lowest / parts / 8;
    for (int64_t at = lowest; at < (int64_t)parts * lowest; at += lowest) {
        int32_t lag = (int32_t)((2 * at + parts) / (2 * parts));
        if (d[lag - 1] > limit && (slack == 0 || d[deepest(d, lag - slack, lag + slack) - 1] > limit))
            return false;
    }
    return true;
}

/* Return whether d at a lag is raised only because `lowest` / parts lies between lags: extrapolated with the slope of
 * the steeper side, d there is as low as noise allows. */
static bool is_between_minima(const struct dpd_values_minima *minima, int32_t lag, int32_t lowest, int32_t parts,
                              double noise, double limit)
{
    const double *d = minima->d;
    double value = d[lag - 1], difference = d[lag - 2] - d[lag], slope = fmax(d[lag - 2], d[lag]) - value;
    double off = (double)lowest / parts - lag;
    return value <= limit && value - fabs(difference) / 2 <= (1 + 2 * noise) * d[lowest - 1] &&
           fabs(difference / 2 - off * slope) <= slope / 4;
}

/* Return the fundamental period, of which `lowest` is a multiple: divide it into as many parts as possible. */
static int32_t fundamental(const struct dpd_values *dpd, struct dpd_values_minima minima, int32_t lowest, double most)
{
    double floor = minima.d[lowest - 1], exact = ROUNDING * most, range = most - floor;
    double noise = ERRORS / sqrt(dpd_values_terms(dpd, minima.n)); /* the error of a mean of that many distances */
    double limit = floor + (floor <= exact ? exact : AS_DEEP * range);
    for (int32_t lag = 2; 2 * lag <= lowest + 1; lag++) {
        if (minima.d[lag - 1] > limit || !dpd_values_is_after_a_rise(&minima, lag))
            continue;
        int32_t parts = 2 * lowest / (2 * lag - 1), fewest = 2 * lowest / (2 * lag + 1) + 1;
        for (; parts >= fewest && parts > 1; parts--)
            if (repeats(minima.d, lowest, parts, limit) &&
                (is_between_minima(&minima, lag, lowest, parts, noise, floor + BETWEEN * range) ||
                 !dpd_values_is_worse(dpd, lag, lowest)))
                return deepest(minima.d, lag - lag / 8, smaller(lag + lag / 8, minima.n));
    }
    return lowest;
}

/* Return whether d grows at twice the period. Two close frequencies have a common minimum that is no period of their
 * sum: at twice the lag they are twice as far apart. */
static bool grows(const double *d, int32_t n, int32_t period, double most, double least)
{
    int32_t slack = period / 8 + 1, high = smaller(2 * period + slack, n);
    if (2 * period > n)
        return most < UNSEEN * least * d[period - 1];
    double twice = d[deepest(d, 2 * period - slack, high) - 1];
    return twice > GROWTH * d[period - 1] + GROWTH_FLOOR * most;
}

int32_t dpd_values_search(const struct dpd_values *dpd, const double *d, int32_t n, double *confidence)
{
    double least = dpd->options.confidence, most = dpd->kernels->largest(d, (size_t)n, 0);
    struct dpd_values_minima minima = {dpd->kernels, d, n, least, 0, 0};
    int32_t lowest = lowest_minimum(minima, most);
    if (lowest == 0)
        return 0;
    int32_t period = fundamental(dpd, minima, lowest, most);
    if (grows(d, n, period, most, least) ||
        (d[lowest - 1] > ROUNDING * most && dpd_values_has_rival(dpd, &minima, period, most)))
        return 0;
    *confidence = d[period - 1] > 0 ? most / d[period - 1] : INFINITY;
    return period;
}
