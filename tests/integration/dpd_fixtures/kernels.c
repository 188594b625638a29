/* Every set of vector instructions that this processor has gives the same, to the last bit. Prints their names. */
#include "dpd_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAGS = 8 * DPD_BLOCK };

static uint16_t run[2][LAGS] __attribute__((aligned(DPD_ALIGN))), threshold[LAGS] __attribute__((aligned(DPD_ALIGN)));
static uint16_t past[2 * LAGS];
static double sum[2][LAGS] __attribute__((aligned(DPD_ALIGN))), near[2 * LAGS];

static void check(int same, const char *what, const char *name, int at)
{
    if (!same) {
        printf("%s differs: %s at %d\n", what, name, at);
        exit(1);
    }
}

static void compare(const struct dpd_kernels *a, const struct dpd_kernels *b)
{
    memset(run, 0, sizeof run);
    memset(sum, 0, sizeof sum);
    srand(1);
    for (int i = 0; i < 70000; i++) {
        const uint16_t *from = past + rand() % LAGS;
        const double *values = near + rand() % LAGS, *others = near + rand() % LAGS;
        size_t n = (size_t)(1 + rand() % (LAGS / DPD_BLOCK)) * DPD_BLOCK, some = (size_t)(rand() % LAGS);
        double x = rand() / 1e9, y = rand() / 1e9;
        uint16_t symbol = (uint16_t)(i < 66000 ? 1 : rand() % 3);
        threshold[rand() % LAGS] = (uint16_t)(rand() % 70);
        check(!a->count(run[0], from, threshold, symbol, n) == !b->count(run[1], from, threshold, symbol, n), "count",
              b->name, i);
        check(memcmp(run[0], run[1], sizeof run[0]) == 0, "run", b->name, i);
        check(!a->meets(run[0], threshold, n) == !b->meets(run[1], threshold, n), "meets", b->name, i);
        check(a->longest(run[0], some) == b->longest(run[1], some), "longest", b->name, i);
        a->distances(sum[0], values, others, x, y, n);
        b->distances(sum[1], values, others, x, y, n);
        check(memcmp(sum[0], sum[1], sizeof sum[0]) == 0, "distances", b->name, i);
        check(a->distance(values, others, some) == b->distance(values, others, some), "distance", b->name, i);
        check(a->largest(near, some, 0.1) == b->largest(near, some, 0.1), "largest", b->name, i);
    }
}

int main(void)
{
    const struct dpd_kernels *first = dpd_kernels_at(0), *other;
    for (int j = 0; j < 2 * LAGS; j++) {
        past[j] = (uint16_t)(j % 50 == 7 ? 2 : 1);
        near[j] = rand() / 1e9;
    }
    for (int j = 0; j < LAGS; j++)
        threshold[j] = DPD_NEVER;
    for (int i = 0; (other = dpd_kernels_at(i)) != NULL; i++) {
        compare(first, other);
        printf("%s %d\n", other->name, run[0][0]);
    }
    return first == dpd_kernels() ? 0 : 2;
}
