/* Which local minimum of d(m) is the period, if any is. */
#include "dpd_values_internal.h"

#include <math.h>
#include <stdlib.h>

/* Shares of the way from the deepest minimum to the largest d: how high a minimum may lie that is as good as it, one
 * close to it that is its rival, and how much d has to rise between two minima for them to be two. */
#define AS_DEEP 0.2
#define RIVAL 0.4
#define RISE 0.3
/* At twice the period d may be as much larger: 1.41 where periods jitter, 2 where two frequencies part. */
#define GROWTH 1.6
#define GROWTH_FLOOR 0.05 /* of the largest d */

/* A period above half of the lags cannot be asked about its double: it takes more confidence, by this factor. */
#define UNSEEN 1.6

/* Whether a lag's d is below its neighbours'; of equal ones the first. d is an array of lags, from 1 on. */
static bool is_minimum(const double *d, int32_t n, int32_t lag)
{
    int32_t after = lag;
    if (lag < 2 || !(d[lag - 1] < d[lag - 2]))
        return false;
    while (after < n && d[after] == d[lag - 1])
        after++;
    return after < n ? d[after] > d[lag - 1] : d[lag - 1] == 0;
}

/* The deepest lag in low .. high. */
static int32_t deepest(const double *d, int32_t low, int32_t high)
{
    int32_t best = low;
    for (int32_t lag = low + 1; lag <= high; lag++)
        best = d[lag - 1] < d[best - 1] ? lag : best;
    return best;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Two frequencies close to each other have one minimum that is no period of the sum: at twice the lag they are twice as
 * far apart. */
static bool grows(const double *d, int32_t n, int32_t period, double most, double least)
{
    int32_t slack = period / 8 + 1, high = smaller(2 * period + slack, n);
    if (2 * period > n)
        return most < UNSEEN * least * d[period - 1];
    double twice = d[deepest(d, 2 * period - slack, high) - 1];
    return twice > GROWTH * d[period - 1] + GROWTH_FLOOR * most;
}

/* Whether d, on its way from the period to `end`, rises and falls to another minimum of its kind. */
static bool falls_again(const double *d, int32_t period, int32_t end, double most)
{
    double range = most - d[period - 1], limit = d[period - 1] + RIVAL * range, between = 0;
    int32_t step = end < period ? -1 : 1;
    for (int32_t lag = period + step; lag != end + step; lag += step) {
        between = fmax(between, d[lag - 1]);
        if (d[lag - 1] <= limit && between >= d[lag - 1] + RISE * range)
            return true;
    }
    return false;
}

/* Two frequencies close to each other and of similar amplitude, neither of which is the period: two minima side by
 * side. */
static bool has_rival(const double *d, int32_t n, int32_t period, double most)
{
    int32_t reach = period / 5;
    return reach > 0 &&
           (falls_again(d, period, period - reach, most) || falls_again(d, period, smaller(period + reach, n), most));
}

/* Whether a lag is a multiple of the period, as far as that is known. */
static bool is_multiple(int32_t lag, int32_t period)
{
    int32_t times = (lag + period / 2) / period;
    return abs(lag - times * period) <= times + period / 8;
}

/* The largest d before a lag; lags are asked for in ascending order. */
struct before {
    const struct dpd_kernels *kernels;
    const double *d;
    int32_t done;
    double most;
};

static double largest_before(struct before *before, int32_t lag)
{
    const double *from = before->d + before->done;
    before->most = before->kernels->largest(from, (size_t)(lag - 1 - before->done), before->most);
    before->done = lag - 1;
    return before->most;
}

int32_t dpd_values_search(const struct dpd_kernels *kernels, const double *d, int32_t n, double least,
                          double *confidence)
{
    double most = kernels->largest(d, (size_t)n, 0), deep = INFINITY;
    struct before before = {kernels, d, 0, 0};
    /* A minimum counts after a rise: d is small at small lags of any smooth series. */
    for (int32_t lag = 2; lag <= n; lag++)
        if (least * d[lag - 1] <= most && d[lag - 1] < deep && is_minimum(d, n, lag) &&
            largest_before(&before, lag) >= least * d[lag - 1])
            deep = d[lag - 1];
    if (!(deep < INFINITY))
        return 0;
    double limit = deep + AS_DEEP * (most - deep);
    int32_t period = 0;
    before = (struct before){kernels, d, 0, 0};
    for (int32_t lag = 2; lag <= n; lag++) {
        if (!(d[lag - 1] <= limit) || !is_minimum(d, n, lag) || largest_before(&before, lag) < least * d[lag - 1])
            continue;
        if (period == 0)
            period = deepest(d, lag, smaller(lag + lag / 4, n));
        else if (lag > period && !is_multiple(lag, period))
            return 0;
    }
    if (grows(d, n, period, most, least) || has_rival(d, n, period, most))
        return 0;
    *confidence = d[period - 1] > 0 ? most / d[period - 1] : INFINITY;
    return period;
}
