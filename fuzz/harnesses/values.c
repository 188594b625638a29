/* The detector of magnitudes: any options, any samples, also those that are no numbers. */
#include "dpd_values.h"
#include "drawn.h"

#include <math.h>

#define MOST_SAMPLES 512

static double draw_sample(struct drawn *drawn)
{
    uint64_t kind = draw(drawn, 1);
    double value;
    if (kind < 240)
        return (double)(kind % 16) * (kind < 120 ? 1 : 0.3);
    uint64_t bits = draw(drawn, 8);
    memcpy(&value, &bits, 8);
    return value;
}

/* Distances are those that the sums over the history give, as far as doubles go. */
static void check_distances(const struct dpd_values *dpd, const double *history, size_t count, int32_t window,
                            int32_t lags)
{
    double distances[64], largest = 0;
    int32_t n = lags - 1 < 64 ? lags - 1 : 64;
    dpd_values_distances(dpd, distances, n);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(history[i]));
    for (int32_t m = 1; m <= n && count > (size_t)m; m++) {
        double sum = 0;
        size_t terms = count - (size_t)m < (size_t)window ? count - (size_t)m : (size_t)window;
        for (size_t i = count - terms; i < count; i++)
            sum += fabs(history[i] - history[i - (size_t)m]);
        DEMAND(fabs(distances[m - 1] - sum / (double)terms) <= 1e-9 * largest * (double)count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static double history[MOST_SAMPLES];
    struct drawn drawn = {data, size};
    struct dpd_values_options options = {.window = (int32_t)draw(&drawn, 1) / 3,
                                         .lags = (int32_t)draw(&drawn, 1) / 2,
                                         .capacity = (int32_t)draw(&drawn, 1) * 2,
                                         .every = (int8_t)draw(&drawn, 1),
                                         .confidence = (double)draw(&drawn, 1) / 16};
    struct dpd_values *dpd = dpd_values_create(&options);
    DEMAND((dpd == NULL) == (dpd_values_size(&options) == 0));
    int32_t window = options.window ? options.window : 100, lags = options.lags ? options.lags : window;
    size_t samples = 0, resized = 0;
    while (dpd != NULL && drawn.left > 0 && samples < MOST_SAMPLES) {
        int32_t period = 0, n = (int32_t)draw(&drawn, 1), m = n > 250 ? (int32_t)draw(&drawn, 1) : 0;
        if (n > 250 && dpd_values_resize(dpd, n - 249 + m, m) == 0) {
            window = n - 249 + m;
            lags = m ? m : window;
            resized = 1;
        }
        double pattern[16], value;
        size_t length = 1 + draw_below(&drawn, 16);
        for (size_t i = 0; i < length; i++)
            pattern[i] = draw_sample(&drawn);
        for (int i = 0; i < n && samples < MOST_SAMPLES; i++) {
            int start = dpd_values_sample(dpd, pattern[(size_t)i % length], &period);
            DEMAND(start >= -1 && start <= 1 && period >= 0 && period < lags);
            DEMAND((start < 0) == !(fabs(pattern[(size_t)i % length]) <= DPD_VALUES_LARGEST));
            if (start >= 0)
                history[samples++] = pattern[(size_t)i % length];
        }
        DEMAND(dpd_values_confidence(dpd) >= 0);
        dpd_values_predict(dpd, 1 + n, &value);
    }
    if (dpd != NULL && !resized)
        check_distances(dpd, history, samples, window, lags);
    dpd_values_destroy(dpd);
    return 0;
}
