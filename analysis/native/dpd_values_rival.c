/* The residual that a period leaves of the series: noise, or structure that another lag explains. */
#include "dpd_internal.h"

#include <math.h>
#include <stdlib.h>

/* Shares of the range from d at the period to the largest d: the highest level of a nearby rival minimum, and the least
 * rise of d between the two. */
#define RIVAL 0.4
#define RISE 0.3
/* The same for a minimum anywhere else. */
#define AS_DEEP 0.2
/* Number of standard errors beyond which a residual is no noise, and beyond which a lag's residual exceeds
 * another's. */
#define ERRORS 3
#define WORSE 4
/* Square of the mean over the mean square of the residual: 0.64 for noise, less if it is concentrated in a few
 * samples. */
#define BURST 0.3

/* Return the distance from the period, towards `end`, at which d has risen and fallen to a comparable minimum; 0: it
 * has not. */
static int32_t falls_again(const double *d, int32_t period, int32_t end, double most)
{
    double range = most - d[period - 1], limit = d[period - 1] + RIVAL * range, between = 0;
    int32_t step = end < period ? -1 : 1;
    for (int32_t lag = period + step; lag != end + step; lag += step) {
        between = fmax(between, d[lag - 1]);
        if (d[lag - 1] <= limit && between >= d[lag - 1] + RISE * range)
            return abs(lag - period);
    }
    return 0;
}

/* Return the distance of a rival from the nearest multiple of the period: another minimum close to the period, or one
 * elsewhere that is as low. 0: there is none. */
static int32_t rival(struct dpd_values_minima *minima, int32_t period, double most)
{
    double limit = minima->d[period - 1] + AS_DEEP * (most - minima->d[period - 1]);
    int32_t reach = period / 5, high = period + reach < minima->n ? period + reach : minima->n, off = 0;
    if (reach > 0)
        off = falls_again(minima->d, period, period - reach, most);
    if (reach > 0 && off == 0)
        off = falls_again(minima->d, period, high, most);
    for (int32_t lag = period; off == 0 && (lag = dpd_values_next_minimum(minima, lag, limit)) != 0;) {
        int32_t times = (lag + period / 2) / period, from = abs(lag - times * period);
        off = from > times + period / 8 ? from : 0;
    }
    return off;
}

/* Return whether x[n] - x[n - period] is not noise: its sums over half of `off` are larger, because successive values
 * have the same sign. For independent values the expected square of such a sum is the sum of the squares; the test
 * allows for the error due to the overlap of the sums. */
static bool leaves_structure(const struct dpd_values *dpd, int32_t period, int32_t off)
{
    const double *past = dpd->buffer + dpd->head, *before = past + period;
    int32_t n = dpd_values_terms(dpd, period), half = (off + 1) / 2, count = n - 2 * half;
    if (count < 1)
        return false;
    double sum = 0, sums = 0, squares = 0, total = 0;
    for (int32_t i = 0; i < n; i++) {
        double here = past[i] - before[i];
        squares += here * here;
        total += fabs(here);
        sum -= here;
        if (i >= half)
            sum += 2 * (past[i - half] - before[i - half]);
        if (i >= 2 * half)
            sum -= past[i - 2 * half] - before[i - 2 * half];
        if (i >= 2 * half - 1)
            sums += sum * sum;
    }
    double expected = 2 * half * squares / n;
    return total * total < BURST * n * squares ||
           sums / (count + 1) > expected * (1 + ERRORS * sqrt(4.0 * half / (3.0 * n)));
}

bool dpd_values_has_rival(const struct dpd_values *dpd, struct dpd_values_minima *minima, int32_t period, double most)
{
    int32_t off = rival(minima, period, most);
    return off != 0 && leaves_structure(dpd, period, off);
}

bool dpd_values_is_worse(const struct dpd_values *dpd, int32_t lag, int32_t other)
{
    const double *past = dpd->buffer + dpd->head;
    int32_t n = dpd_values_terms(dpd, other);
    double sum = 0, squares = 0, products = 0, left = 0, last = 0;
    for (int32_t i = 0; i < n; i++) {
        double here = past[i] - past[i + other], more = fabs(past[i] - past[i + lag]) - fabs(here);
        sum += more;
        squares += more * more;
        products += here * last;
        left += here * here;
        last = here;
    }
    return sum > WORSE * sqrt(squares) && products < ERRORS / sqrt(n) * left;
}
