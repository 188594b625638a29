/* A detector's memory: one block, laid out once. */
#include "dpd_internal.h"

#include <stdlib.h>
#include <string.h>

/* Number of samples between two moves of the ring's content. */
#define SLACK 1024
#define MOST_MEMORY (1 << 24)

static bool filled(const struct dpd_options *given, struct dpd_options *options)
{
    static const struct dpd_options defaults;
    *options = given ? *given : defaults;
    if (options->window == 0)
        options->window = 100;
    if (options->capacity == 0)
        options->capacity = options->window;
    return options->window >= 2 && options->capacity >= options->window && options->capacity <= DPD_MAX_WINDOW &&
           (options->rule == DPD_ADAPTIVE || options->rule == DPD_WINDOW) && options->matches >= 0 &&
           options->matches <= DPD_MAX_WINDOW && (options->tolerance == 0 || options->tolerance == 1) &&
           (options->memory == 0 || (options->memory >= 2 * RECALL_LONGEST && options->memory <= MOST_MEMORY &&
                                     (options->memory & (options->memory - 1)) == 0));
}

static int32_t in_blocks(int32_t n)
{
    return (n + DPD_BLOCK - 1) / DPD_BLOCK * DPD_BLOCK;
}

/* Return the next part of the block; only advance its end if there is no block yet. */
static void *part(char *block, size_t *end, size_t bytes)
{
    size_t begin = (*end + DPD_ALIGN - 1) / DPD_ALIGN * DPD_ALIGN;
    *end = begin + bytes;
    return block ? block + begin : NULL;
}

/* Set the pointers of `dpd`, which is in the block unless that is NULL. Returns the size in bytes. */
static size_t lay_out(struct dpd *dpd, char *block, const struct dpd_options *options)
{
    size_t lags = (size_t)in_blocks(options->capacity);
    size_t symbols = (size_t)options->capacity + 2; /* the window, the next one, and none */
    size_t end = sizeof *dpd;
    dpd->buffered = (int32_t)(2 * lags + SLACK);
    dpd->run = part(block, &end, lags * sizeof *dpd->run);
    dpd->threshold = part(block, &end, lags * sizeof *dpd->threshold);
    dpd->buffer = part(block, &end, (size_t)dpd->buffered * sizeof *dpd->buffer);
    dpd->symbols.room = (uint32_t)options->capacity + 1;
    dpd->symbols.value = part(block, &end, symbols * sizeof *dpd->symbols.value);
    dpd->symbols.latest = part(block, &end, symbols * sizeof *dpd->symbols.latest);
    dpd->symbols.spare = part(block, &end, symbols * sizeof *dpd->symbols.spare);
    dpd->symbols.slot = part(block, &end, symbols_slots(dpd->symbols.room) * sizeof *dpd->symbols.slot);
    dpd->recall.size = (uint32_t)options->memory;
    dpd->recall.history = part(block, &end, dpd->recall.size * sizeof *dpd->recall.history);
    dpd->recall.ended = part(block, &end, RECALL_ORDERS * dpd->recall.size * sizeof *dpd->recall.ended);
    for (int i = 0; options->tolerance && i < DPD_MENDS; i++)
        dpd->mend[i].pattern = part(block, &end, (size_t)options->capacity * sizeof *dpd->mend[i].pattern);
    return end;
}

size_t dpd_size(const struct dpd_options *given)
{
    struct dpd_options options;
    struct dpd scratch;
    return filled(given, &options) ? lay_out(&scratch, NULL, &options) : 0;
}

static void set_window(struct dpd *dpd, int32_t window)
{
    dpd->window = window;
    dpd->lags = window - 1;
    dpd->padded = in_blocks(window);
    for (int32_t j = 0; j < dpd->padded; j++)
        dpd->threshold[j] = j < dpd->lags ? (uint16_t)dpd_needed(dpd, j + 1) : DPD_NEVER;
}

struct dpd *dpd_init(void *memory, const struct dpd_options *given)
{
    struct dpd_options options;
    if (!filled(given, &options))
        return NULL;
    struct dpd *dpd = memory;
    memset(dpd, 0, sizeof *dpd);
    dpd->options = options;
    size_t size = lay_out(dpd, memory, &options);
    memset((char *)memory + sizeof *dpd, 0, size - sizeof *dpd);
    dpd->kernels = dpd_kernels();
    dpd->head = dpd->buffered - in_blocks(options.capacity);
    symbols_reset(&dpd->symbols);
    recall_reset(&dpd->recall);
    set_window(dpd, options.window);
    return dpd;
}

struct dpd *dpd_create(const struct dpd_options *options)
{
    size_t size = dpd_size(options);
    if (size == 0)
        return NULL;
    void *memory = aligned_alloc(DPD_ALIGN, (size + DPD_ALIGN - 1) / DPD_ALIGN * DPD_ALIGN);
    return memory ? dpd_init(memory, options) : NULL;
}

void dpd_destroy(struct dpd *dpd)
{
    free(dpd);
}

/* Remove the samples beyond a smaller window, the oldest first; samples before the kept ones are unknown. */
static void keep(struct dpd *dpd, int32_t samples)
{
    uint16_t *past = dpd->buffer + dpd->head;
    for (int32_t back = dpd->window; back > samples; back--)
        symbols_leave(&dpd->symbols, past[back - 1], dpd->count - (uint64_t)back);
    memset(past + samples, 0, (size_t)(dpd->buffered - dpd->head - samples) * sizeof *past);
    memset(dpd->run + samples - 1, 0, (size_t)(in_blocks(dpd->options.capacity) - samples + 1) * sizeof *dpd->run);
}

int dpd_resize(struct dpd *dpd, int32_t window)
{
    if (window < 2 || window > dpd->options.capacity)
        return -1;
    keep(dpd, window < dpd->window ? window : dpd->window);
    set_window(dpd, window);
    dpd->ended = 0;
    for (int32_t i = dpd->levels - 1; i >= 0; i--) {
        const struct level *level = &dpd->level[i];
        int32_t period = level->loop.period;
        if (period > dpd->lags || (level->mend < 0 && dpd->run[period - 1] < dpd_needed(dpd, period)))
            dpd_levels_end(dpd, i);
    }
    dpd->recheck = true;
    return 0;
}

int dpd_copy(struct dpd *to, const struct dpd *from)
{
    if (from->window > to->options.capacity || to->options.tolerance != from->options.tolerance ||
        to->options.memory != from->options.memory)
        return -1;
    int32_t capacity = to->options.capacity;
    *to = *from;
    to->options.capacity = capacity;
    size_t size = lay_out(to, (char *)to, &to->options);
    memset((char *)to + sizeof *to, 0, size - sizeof *to);
    to->head = to->buffered - in_blocks(capacity);
    set_window(to, from->window);
    memcpy(to->run, from->run, (size_t)from->lags * sizeof *to->run);
    symbols_reset(&to->symbols);
    for (int32_t back = from->window; back > 0; back--)
        if (dpd_past(from)[back - 1] != 0)
            to->buffer[to->head + back - 1] =
                symbols_take(&to->symbols, dpd_sample(from, back - 1), from->count - (uint64_t)back);
    memcpy(to->recall.history, from->recall.history, to->recall.size * sizeof *to->recall.history);
    memcpy(to->recall.ended, from->recall.ended, RECALL_ORDERS * to->recall.size * sizeof *to->recall.ended);
    for (int i = 0; i < DPD_MENDS; i++)
        if (from->mend[i].used)
            memcpy(to->mend[i].pattern, from->mend[i].pattern, (size_t)from->lags * sizeof *to->mend[i].pattern);
    return 0;
}
