/* Lower bounds of DTW that are valid without a warping window, in linear time.
 *
 * Kim: first meets first and last meets last. Yi (Keogh's with an envelope as wide as the series): every value of one
 * series meets some value of the other, so a value outside the other's range costs at least its distance to that range.
 */
#include "native.h"

#include <stdint.h>
#include <stdlib.h>

NATIVE_API int incprof_dtw_bounds(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                                  const int32_t *left, const int32_t *right, int64_t pairs, int squared, double *out);

struct range {
    double low, high;
};

static double cost(double step, int squared)
{
    return squared ? step * step : step < 0 ? -step : step;
}

static struct range range_of(const double *values, int64_t length)
{
    struct range range = {values[0], values[0]};
    for (int64_t i = 1; i < length; i++) {
        range.low = values[i] < range.low ? values[i] : range.low;
        range.high = values[i] > range.high ? values[i] : range.high;
    }
    return range;
}

/* Return the cost of values outside a range, without the two ends, which Kim's bound counts. */
static double outside(const double *values, int64_t length, struct range range, int squared)
{
    double sum = 0;
    for (int64_t i = 1; i < length - 1; i++) {
        double beyond = values[i] > range.high ? values[i] - range.high : 0;
        beyond = values[i] < range.low ? range.low - values[i] : beyond;
        sum += cost(beyond, squared);
    }
    return sum;
}

static double ends(const double *a, int64_t m, const double *b, int64_t n, int squared)
{
    double first = cost(a[0] - b[0], squared);
    return m == 1 && n == 1 ? first : first + cost(a[m - 1] - b[n - 1], squared);
}

/* Compute a lower bound for each pair, given as for incprof_dtw_pairs. An inner point never shares its cell with both
 * ends of the other series twice: the cells (0, 0) and (m-1, n-1) hold no inner point, so that the two bounds add
 * up. */
int incprof_dtw_bounds(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                       const int32_t *left, const int32_t *right, int64_t pairs, int squared, double *out)
{
    struct range *ranges = malloc((size_t)(series > 0 ? series : 1) * sizeof *ranges);
    if (!ranges)
        return -1;
    for (int64_t s = 0; s < series; s++)
        ranges[s] = range_of(values + start[s], length[s]);
    for (int64_t p = 0; p < pairs; p++) {
        int32_t i = left[p], j = right[p];
        const double *a = values + start[i], *b = values + start[j];
        double one = outside(a, length[i], ranges[j], squared), other = outside(b, length[j], ranges[i], squared);
        out[p] = ends(a, length[i], b, length[j], squared) + (one > other ? one : other);
    }
    free(ranges);
    return 0;
}
