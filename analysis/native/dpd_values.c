/* Sums of distances, updated with one term in and one out per sample. */
#include "dpd_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of samples between two moves of the ring's content, and between two recomputations of a rounded sum. */
#define SLACK 2048
#define AGAIN 16
#define EXACT 9007199254740992.0 /* 2^53 */

static bool filled(const struct dpd_values_options *given, struct dpd_values_options *options)
{
    static const struct dpd_values_options defaults;
    *options = given ? *given : defaults;
    if (options->window == 0)
        options->window = 100;
    if (options->lags == 0)
        options->lags = options->window;
    if (options->window < 2 || options->lags < 2 || options->window > DPD_VALUES_MOST ||
        options->lags > DPD_VALUES_MOST)
        return false;
    if (options->capacity == 0)
        options->capacity = options->window + options->lags;
    if (options->every == 0)
        options->every = 1 + (options->window + options->lags - 1) / 64;
    if (options->confidence == 0)
        options->confidence = 2.5;
    return options->capacity >= options->window + options->lags && options->capacity <= 2 * DPD_VALUES_MOST &&
           options->every > 0 && options->confidence > 1;
}

static int32_t in_blocks(int32_t n)
{
    return (n + DPD_BLOCK - 1) / DPD_BLOCK * DPD_BLOCK;
}

static size_t lay_out(struct dpd_values *dpd, char *block, const struct dpd_values_options *options)
{
    size_t begin = (sizeof *dpd + DPD_ALIGN - 1) / DPD_ALIGN * DPD_ALIGN;
    size_t lags = (size_t)in_blocks(options->capacity), kept = lags + DPD_BLOCK;
    dpd->buffered = (int32_t)(2 * kept) + SLACK;
    double *at = block ? (double *)(void *)(block + begin) : NULL;
    if (at) {
        dpd->sum = at;
        dpd->distance = at + lags;
        dpd->buffer = at + 2 * lags;
    }
    return begin + (2 * lags + (size_t)dpd->buffered) * sizeof(double);
}

size_t dpd_values_size(const struct dpd_values_options *given)
{
    struct dpd_values_options options;
    struct dpd_values scratch;
    return filled(given, &options) ? lay_out(&scratch, NULL, &options) : 0;
}

static void set_window(struct dpd_values *dpd, int32_t window, int32_t lags)
{
    dpd->window = window;
    dpd->lags = lags - 1;
    dpd->padded = in_blocks(dpd->lags);
}

struct dpd_values *dpd_values_init(void *memory, const struct dpd_values_options *given)
{
    struct dpd_values_options options;
    if (!filled(given, &options))
        return NULL;
    struct dpd_values *dpd = memory;
    memset(dpd, 0, sizeof *dpd);
    size_t size = lay_out(dpd, memory, &options);
    memset((char *)memory + sizeof *dpd, 0, size - sizeof *dpd);
    dpd->options = options;
    dpd->kernels = dpd_kernels();
    dpd->head = dpd->buffered - in_blocks(options.capacity) - DPD_BLOCK;
    set_window(dpd, options.window, options.lags);
    return dpd;
}

struct dpd_values *dpd_values_create(const struct dpd_values_options *options)
{
    size_t size = dpd_values_size(options);
    if (size == 0)
        return NULL;
    void *memory = aligned_alloc(DPD_ALIGN, (size + DPD_ALIGN - 1) / DPD_ALIGN * DPD_ALIGN);
    return memory ? dpd_values_init(memory, options) : NULL;
}

void dpd_values_destroy(struct dpd_values *dpd)
{
    free(dpd);
}

static void sum_again(struct dpd_values *dpd, int32_t lag)
{
    const double *past = dpd->buffer + dpd->head;
    dpd->sum[lag - 1] = dpd->kernels->distance(past, past + lag, (size_t)dpd_values_terms(dpd, lag));
}

/* Return whether sums are rounded. Those of integers are exact as long as every partial sum is below 2^53. */
static bool rounds(const struct dpd_values *dpd, double sample)
{
    return sample != nearbyint(sample) || fabs(sample) > EXACT / (4.0 * dpd->window);
}

/* Add a sample; `past` are the samples before it. While there are fewer than the window and the lags need, some terms
 * do not exist yet, and some sums have none to remove. */
static void add(struct dpd_values *dpd, const double *past, double sample)
{
    int32_t near = dpd->have < dpd->lags ? dpd->have : dpd->lags;
    int32_t far = dpd->have - dpd->window < dpd->lags ? dpd->have - dpd->window : dpd->lags;
    const double *from = past + dpd->window - 1;
    if (far == dpd->lags) {
        dpd->kernels->distances(dpd->sum, past, from + 1, sample, *from, (size_t)dpd->padded);
        return;
    }
    for (int32_t j = 0; j < near; j++)
        dpd->sum[j] += fabs(sample - past[j]);
    for (int32_t j = 0; j < far; j++)
        dpd->sum[j] -= fabs(*from - from[j + 1]);
}

static void push(struct dpd_values *dpd, double sample)
{
    if (dpd->head == 0) {
        int32_t kept = in_blocks(dpd->window + dpd->lags + 1) + DPD_BLOCK;
        dpd->head = dpd->buffered - kept;
        memmove(dpd->buffer + dpd->head, dpd->buffer, (size_t)kept * sizeof *dpd->buffer);
    }
    dpd->buffer[--dpd->head] = sample;
    dpd->have += dpd->have < dpd->window + dpd->lags + 1;
    dpd->count++;
}

/* Evaluate the distances. A lag counts once its pattern has occurred twice. */
static void search(struct dpd_values *dpd)
{
    int32_t n = dpd->have / 2 < dpd->lags ? dpd->have / 2 : dpd->lags, was = dpd->period;
    const double *d = dpd->sum;
    if (dpd->have - dpd->window < n) { /* otherwise all have the same number of terms */
        d = dpd->distance;
        for (int32_t lag = 1; lag <= n; lag++)
            dpd->distance[lag - 1] = dpd->sum[lag - 1] / dpd_values_terms(dpd, lag);
    }
    dpd->period = n > 0 ? dpd_values_search(dpd, d, n, &dpd->confidence) : 0;
    /* A drifting period continues; a different one begins with the next sample. */
    int32_t drift = was / 16 > 1 ? was / 16 : 1;
    if (was == 0 || abs(dpd->period - was) > drift)
        dpd->to_start = 0;
}

int dpd_values_sample(struct dpd_values *dpd, double sample, int32_t *period)
{
    if (!(fabs(sample) <= DPD_VALUES_LARGEST))
        return -1;
    dpd->inexact |= rounds(dpd, sample);
    add(dpd, dpd->buffer + dpd->head, sample);
    push(dpd, sample);
    if (dpd->inexact && dpd->count % AGAIN == 0) {
        sum_again(dpd, dpd->again + 1);
        dpd->again = dpd->again + 1 < dpd->lags ? dpd->again + 1 : 0;
    }
    int start = dpd->period != 0 && dpd->to_start == 0;
    if (dpd->period != 0)
        dpd->to_start = (start ? dpd->period : dpd->to_start) - 1;
    if (dpd->count % (uint64_t)dpd->options.every == 0)
        search(dpd);
    if (period)
        *period = dpd->period;
    return start;
}

int dpd_values_resize(struct dpd_values *dpd, int32_t window, int32_t lags)
{
    lags = lags == 0 ? window : lags;
    if (window < 2 || lags < 2 || window > DPD_VALUES_MOST || lags > DPD_VALUES_MOST ||
        window + lags > dpd->options.capacity)
        return -1;
    set_window(dpd, window, lags);
    dpd->have = dpd->have < window + lags ? dpd->have : window + lags;
    memset(dpd->sum, 0, (size_t)in_blocks(dpd->options.capacity) * sizeof *dpd->sum);
    for (int32_t lag = 1; lag <= dpd->lags; lag++)
        sum_again(dpd, lag);
    dpd->again = 0;
    dpd->period = dpd->period < lags ? dpd->period : 0;
    return 0;
}
