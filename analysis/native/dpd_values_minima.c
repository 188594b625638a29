/* The relevant local minima of d(m). */
#include "dpd_internal.h"

static bool is_minimum(const double *d, int32_t n, int32_t lag)
{
    int32_t after = lag;
    if (lag < 2 || !(d[lag - 1] < d[lag - 2]))
        return false;
    while (after < n && d[after] == d[lag - 1])
        after++;
    return after < n ? d[after] > d[lag - 1] : d[lag - 1] == 0;
}

/* Return the largest d before a lag; lags are queried in ascending order. */
static double largest_before(struct dpd_values_minima *minima, int32_t lag)
{
    const double *from = minima->d + minima->done;
    minima->before = minima->kernels->largest(from, (size_t)(lag - 1 - minima->done), minima->before);
    minima->done = lag - 1;
    return minima->before;
}

/* d is small at small lags of any smooth series. */
bool dpd_values_is_after_a_rise(struct dpd_values_minima *minima, int32_t lag)
{
    return largest_before(minima, lag) >= minima->least * minima->d[lag - 1];
}

int32_t dpd_values_next_minimum(struct dpd_values_minima *minima, int32_t after, double limit)
{
    for (int32_t lag = after + 1; lag <= minima->n; lag++)
        if (minima->d[lag - 1] <= limit && is_minimum(minima->d, minima->n, lag) &&
            dpd_values_is_after_a_rise(minima, lag))
            return lag;
    return 0;
}
