/* The period of a window, if any: find the dips of its distances f, the family of the deepest, and its shortest
 * member. */
#include "dtw.h"

#include "native.h"

#include <math.h>
#include <string.h>

NATIVE_API double incprof_carriers(const double *half, int64_t L);
NATIVE_API int64_t incprof_base_period(const double *f, int64_t L, double carriers, int manhattan,
                                       const struct incprof_closeness *closeness, double *scratch,
                                       struct incprof_limit *limit);

/* Distances below this share of the usual one are rounding errors. */
#define ZERO 1e-9

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

double incprof_carriers(const double *half, int64_t L)
{
    double mean = 0, squares = 0, fourths = 0;
    for (int64_t i = 0; i < L; i++)
        mean += half[i] / (double)L;
    for (int64_t i = 0; i < L; i++) {
        double square = (half[i] - mean) * (half[i] - mean);
        squares += square;
        fourths += square * square;
    }
    return fourths > 0 ? 3 * squares * squares / fourths : 1;
}

/* Return the dip expected by chance in a window of `pieces` independent values: a tail of chi-square,
 * docs/understand/periods-and-models.md. */
static double chance(double pieces)
{
    double few = pieces < 15 ? 0.5 * pieces / 15 : 0.5, many = 1 - 4.35 / sqrt(pieces);
    return many > few ? many : few;
}

/* Return the number of independent values in a window: its noise has a new one in each sample, the signal under the
 * noise only one in `first` samples. noisy: noise as a share of the usual distance. */
static double pieces(double noisy, int64_t first, int64_t L)
{
    double signal = 1 - noisy * noisy, noise = noisy * noisy;
    return (double)L / (signal * signal * (double)first + noise * noise);
}

/* Return the value of rank `rank` in values, which are reordered: Hoare's selection. */
static double ranked(double *values, int64_t count, int64_t rank)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double kept = values[i];
                values[i++] = values[j];
                values[j--] = kept;
            }
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

/* Return the typical f without repetition: its median, or its mean if most of it are repeats. */
static double usual(const double *f, int64_t L, double *scratch)
{
    double sum = 0;
    for (int64_t i = 0; i < L - 1; i++)
        sum += f[i];
    memcpy(scratch, f, (size_t)(L - 1) * sizeof *f);
    double median = ranked(scratch, L - 1, (L - 1) / 2), mean = sum / (double)(L - 1);
    return median > mean ? median : mean;
}

/* Return whether f has a minimum at shift k. The last shift has no neighbour to its right, and must be an exact copy:
 * two adjacent instances can only be detected in this way. */
static int is_dip(const double *f, int64_t k, int64_t L, double reference)
{
    int falls = k == 1 || f[k - 1] < f[k - 2];
    return falls && (k < L ? f[k - 1] <= f[k] : f[k - 1] <= ZERO * reference);
}

/* Return whether the deepest shift is nearly a multiple of k. k is at most the deepest. */
static int related(int64_t k, int64_t deepest)
{
    double times = (double)deepest / (double)k;
    return fabs(times - round(times)) <= 0.05 * times;
}

int64_t incprof_base_period(const double *f, int64_t L, double carriers, int manhattan,
                            const struct incprof_closeness *closeness, double *scratch, struct incprof_limit *limit)
{
    double reference = usual(f, L, scratch);
    if (!(reference > 0))
        return 0;
    double noise = closeness->noise * (manhattan ? 1.1283791670955126 * (double)L : sqrt(2.0 * (double)L));
    noise = smaller(noise, reference);
    /* In a smooth series the first shifts are close without being periods, so dips count only after f has risen. */
    int64_t first = 1;
    while (first < L && f[first - 1] < noise + 0.7 * (reference - noise))
        first++;
    double close = closeness->theta * reference;
    if (!(closeness->theta > 0)) {
        double half = (noise + reference) / 2;
        close = smaller(half, chance(smaller(pieces(noise / reference, first, L), carriers)) * reference);
    }
    close = close > ZERO * reference ? close : ZERO * reference;
    *limit = (struct incprof_limit){close, close / reference};
    int64_t deepest = 0;
    for (int64_t k = first; k <= L; k++)
        if (is_dip(f, k, L, reference) && f[k - 1] <= close && (!deepest || f[k - 1] < f[deepest - 1]))
            deepest = k;
    if (!deepest)
        return 0;
    double family = f[deepest - 1] + (1 - closeness->depth) * (reference - f[deepest - 1]);
    family = family < close ? family : close;
    for (int64_t k = first > closeness->shortest ? first : closeness->shortest; k <= deepest; k++)
        if (is_dip(f, k, L, reference) && f[k - 1] <= family && related(k, deepest))
            return k;
    return 0; /* the whole family is shorter than requested */
}
