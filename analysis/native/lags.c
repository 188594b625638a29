/* The distances of a window's right half from its shifted copies, by definition. */
#include "dtw.h"

#include "native.h"

#include <math.h>

enum { SHIFTS = 32 };

NATIVE_API void incprof_lags(const double *window, int64_t L, int manhattan, double *f);

/* Compute the sums of shifts k0 .. k0 + SHIFTS - 1 together: neighbouring shifts read neighbouring values. */
static ALWAYS_INLINE void add_up(const double *restrict right, const double *restrict shifted, int64_t L,
                                 double *restrict sums, int manhattan)
{
    double sum[SHIFTS] = {0};
    for (int64_t i = 0; i < L; i++)
        for (int s = 0; s < SHIFTS; s++) {
            double step = right[i] - shifted[i + s];
            sum[s] += manhattan ? (step < 0 ? -step : step) : step * step;
        }
    for (int s = 0; s < SHIFTS; s++)
        sums[s] = sum[s];
}

CLONES static void add_magnitudes(const double *right, const double *shifted, int64_t L, double *sums)
{
    add_up(right, shifted, L, sums, 1);
}

CLONES static void add_squares(const double *right, const double *shifted, int64_t L, double *sums)
{
    add_up(right, shifted, L, sums, 0);
}

static double one_shift(const double *window, int64_t L, int64_t k, int manhattan)
{
    double sum = 0;
    for (int64_t i = 0; i < L; i++) {
        double step = window[L + i] - window[L - k + i];
        sum += manhattan ? (step < 0 ? -step : step) : step * step;
    }
    return sum;
}

void incprof_lags(const double *window, int64_t L, int manhattan, double *f)
{
    double sums[SHIFTS];
    int64_t k = 1;
    for (; k + SHIFTS - 1 <= L; k += SHIFTS) {
        (manhattan ? add_magnitudes : add_squares)(window + L, window + L - k - SHIFTS + 1, L, sums);
        for (int s = 0; s < SHIFTS; s++)
            f[k - 1 + s] = sums[SHIFTS - 1 - s];
    }
    for (; k <= L; k++)
        f[k - 1] = one_shift(window, L, k, manhattan);
    for (int64_t i = 0; !manhattan && i < L; i++)
        f[i] = sqrt(f[i]);
}
