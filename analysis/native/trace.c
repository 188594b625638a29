/* Follows a repetition from one instance to the next, each at the position most similar to the previous ones. */
#include "dtw.h"
#include "native.h"

#include <stdint.h>

NATIVE_API int64_t incprof_trace(const double *x, int64_t samples, int64_t from, int forward, double *shape,
                                 int64_t period, int64_t slack, double limit, double rate, int64_t *starts,
                                 int64_t capacity);

/* Return the mean square difference of x and the shape. */
CLONES static double mean_square(const double *restrict x, const double *restrict shape, int64_t period)
{
    double sum = 0;
    for (int64_t i = 0; i < period; i++)
        sum += (x[i] - shape[i]) * (x[i] - shape[i]);
    return sum / (double)period;
}

/* Return the start near `at` at which x is most similar to the shape; the nearest of equal ones. Negative: none within
 * x. */
static int64_t best_near(const double *x, int64_t samples, int64_t at, const double *shape, int64_t period,
                         int64_t slack, double *least)
{
    int64_t best = -1;
    for (int64_t step = 0; step <= slack; step++)
        for (int side = 0; side < (step ? 2 : 1); side++) {
            int64_t start = side ? at - step : at + step;
            if (start < 0 || start + period > samples)
                continue;
            double value = mean_square(x + start, shape, period);
            if (best < 0 || value < *least) {
                *least = value;
                best = start;
            }
        }
    return best;
}

/* Find the starts of the instances that follow (forward) or precede the one at `from`, nearest first, while their mean
 * square distance from the shape is within limit. The shape (period values) adapts to them: rate is the weight of each
 * new one. Returns their number, at most capacity. */
int64_t incprof_trace(const double *x, int64_t samples, int64_t from, int forward, double *shape, int64_t period,
                      int64_t slack, double limit, double rate, int64_t *starts, int64_t capacity)
{
    int64_t found = 0, at = from;
    while (found < capacity) {
        double least = 0;
        int64_t next = best_near(x, samples, forward ? at + period : at - period, shape, period, slack, &least);
        if (next < 0 || least > limit)
            break;
        for (int64_t i = 0; i < period; i++)
            shape[i] += rate * (x[next + i] - shape[i]);
        starts[found++] = at = next;
    }
    return found;
}
