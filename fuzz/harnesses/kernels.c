/* The kernels of the analysis on drawn series: results lie where they may, and bounds are bounds. */
#include "drawn.h"
#include "dtw.h"

#include <math.h>

int incprof_dtw_pairs(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                      const int32_t *left, const int32_t *right, int64_t pairs, double limit, int squared, double *out);
int incprof_dtw_bounds(const double *values, const int64_t *start, const int64_t *length, int64_t series,
                       const int32_t *left, const int32_t *right, int64_t pairs, int squared, double *out);
int incprof_dba_step(const double *pattern, int64_t points, const double *values, const int64_t *start,
                     const int64_t *length, int64_t series, double *sums, double *counts, double *distances);
int64_t incprof_scan(const double *x, int64_t samples, int64_t L, int64_t slide, int manhattan,
                     const struct incprof_closeness *closeness, int64_t *starts, int64_t *periods);
int64_t incprof_trace(const double *x, int64_t samples, int64_t from, int forward, double *shape, int64_t period,
                      int64_t slack, double limit, double rate, int64_t *starts, int64_t capacity);

#define MOST_SERIES 34 /* more than a batch */
#define MOST_SAMPLES 300

/* Small numbers, and now and then one of any size below 1e100. */
static double draw_value(struct drawn *drawn)
{
    uint64_t kind = draw(drawn, 1);
    if (kind < 250)
        return (double)kind / 8;
    double value = ldexp((double)(int32_t)draw(drawn, 4), (int)draw(drawn, 2) % 300);
    return value;
}

static void warp(struct drawn *drawn, const double *x, int64_t samples)
{
    int64_t start[MOST_SERIES], length[MOST_SERIES], series = 1 + (int64_t)draw_below(drawn, MOST_SERIES);
    int32_t left[MOST_SERIES], right[MOST_SERIES];
    double bounds[MOST_SERIES], found[MOST_SERIES], distances[MOST_SERIES];
    int squared = (int)draw(drawn, 1) & 1;
    for (int64_t s = 0; s < series; s++) {
        start[s] = (int64_t)draw_below(drawn, (uint64_t)samples);
        length[s] = 1 + (int64_t)draw_below(drawn, (uint64_t)(samples - start[s] < 24 ? samples - start[s] : 24));
        left[s] = (int32_t)draw_below(drawn, (uint64_t)(s + 1));
        right[s] = (int32_t)s;
    }
    double limit = (double)draw(drawn, 2);
    DEMAND(incprof_dtw_bounds(x, start, length, series, left, right, series, squared, bounds) == 0);
    DEMAND(incprof_dtw_pairs(x, start, length, series, left, right, series, INCPROF_FAR, squared, distances) == 0);
    DEMAND(incprof_dtw_pairs(x, start, length, series, left, right, series, limit, squared, found) == 0);
    for (int64_t s = 0; s < series; s++) {
        DEMAND(distances[s] >= 0 && bounds[s] <= distances[s] * (1 + 1e-12));
        DEMAND(found[s] == distances[s] || (found[s] == INCPROF_FAR && distances[s] > limit));
    }
    double *sums = calloc((size_t)length[0], 8), *counts = calloc((size_t)length[0], 8), tied = 0;
    DEMAND(incprof_dba_step(x + start[0], length[0], x, start, length, series, sums, counts, distances) == 0);
    for (int64_t i = 0; i < length[0]; i++) {
        DEMAND(counts[i] >= (double)series);
        tied += counts[i];
    }
    for (int64_t s = 0; s < series; s++)
        tied -= (double)(length[s] + length[0] - 1);
    DEMAND(tied <= 0 && distances[0] == 0);
    free(sums);
    free(counts);
}

static void scan(struct drawn *drawn, const double *x, int64_t samples)
{
    struct incprof_closeness closeness = {.noise = (double)draw(drawn, 1) / 64,
                                          .theta = (double)draw(drawn, 1) / 256,
                                          .depth = (double)draw(drawn, 1) / 256};
    int64_t L = 2 + (int64_t)draw_below(drawn, 100), slide = 1 + (int64_t)draw_below(drawn, 64);
    closeness.shortest = 1 + (int64_t)draw_below(drawn, 16);
    size_t room = (size_t)(samples / closeness.shortest + 1);
    int64_t *starts = calloc(room, 8), *periods = calloc(room, 8);
    int64_t count = incprof_scan(x, samples, L, slide, (int)draw(drawn, 1) & 1, &closeness, starts, periods);
    DEMAND(count >= 0 && (size_t)count <= room);
    for (int64_t i = 0; i < count; i++) {
        DEMAND(periods[i] >= closeness.shortest && starts[i] >= periods[i] && starts[i] + periods[i] <= samples);
        DEMAND(i == 0 || starts[i] >= starts[i - 1] + periods[i - 1]);
    }
    if (count > 0) {
        double *shape = calloc((size_t)periods[0], 8);
        memcpy(shape, x + starts[0], (size_t)periods[0] * 8);
        int64_t traced = incprof_trace(x, samples, starts[0], count & 1, shape, periods[0], (periods[0] - 1) / 2, 1e9,
                                       0.5, periods, (int64_t)room);
        DEMAND(traced >= 0 && (size_t)traced <= room);
        free(shape);
    }
    free(starts);
    free(periods);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct drawn drawn = {data, size};
    int64_t samples = 2 + (int64_t)draw_below(&drawn, MOST_SAMPLES), fresh = 1 + (int64_t)draw_below(&drawn, 256);
    double *x = calloc((size_t)samples, 8);
    for (int64_t i = 0; i < samples; i++)
        x[i] = i < fresh ? draw_value(&drawn) : x[i - fresh] + (draw(&drawn, 1) > 250 ? 1 : 0);
    warp(&drawn, x, samples);
    scan(&drawn, x, samples);
    free(x);
    return 0;
}
