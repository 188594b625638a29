/* Processing of one sample: O(window) vectorised comparisons, then the few matching lags. */
#include "dpd_internal.h"

#include <string.h>

/* Put the symbol before all others; samples beyond the window are removed. */
static void push(struct dpd *dpd, uint16_t symbol)
{
    uint16_t *past = dpd->buffer + dpd->head;
    symbols_leave(&dpd->symbols, past[dpd->window - 1], dpd->count - (uint64_t)dpd->window);
    if (dpd->head == 0) {
        dpd->head = dpd->buffered - dpd->padded;
        memmove(dpd->buffer + dpd->head, past, (size_t)dpd->padded * sizeof *past);
    }
    dpd->buffer[--dpd->head] = symbol;
}

int dpd_event(struct dpd *dpd, int64_t sample, int32_t *period)
{
    uint64_t index = dpd->count;
    uint16_t symbol = symbols_take(&dpd->symbols, sample, index);
    bool reached = dpd->kernels->count(dpd->run, dpd_past(dpd), dpd->threshold, symbol, (size_t)dpd->padded) != 0;
    if (dpd->recall.size != 0) {
        const struct level *outermost = dpd_outermost(dpd);
        if (outermost && outermost->mend < 0)
            recall_judge(&dpd->recall, sample, dpd_sample(dpd, outermost->loop.period - 1), index);
        recall_add(&dpd->recall, sample, index);
    }
    push(dpd, symbol);
    dpd->count++;
    int start = 0;
    dpd->ended = 0;
    if (dpd->levels != 0 || reached || dpd->recheck)
        start = dpd_levels_follow(dpd, index, reached, sample);
    if (period) {
        const struct level *outermost = dpd_outermost(dpd);
        *period = outermost ? outermost->loop.period : 0;
    }
    return start;
}

uint64_t dpd_count(const struct dpd *dpd)
{
    return dpd->count;
}

int32_t dpd_matches(const struct dpd *dpd, int32_t lag)
{
    return lag >= 1 && lag <= dpd->lags ? dpd->run[lag - 1] : 0;
}

int32_t dpd_loops(const struct dpd *dpd, struct dpd_loop *loops, int32_t room)
{
    int32_t count = 0;
    for (int32_t i = 0; i < dpd->levels; i++) {
        const struct level *level = &dpd->level[i];
        if (!level->counts || count++ >= room)
            continue;
        loops[count - 1] = level->loop;
        if (level->mend >= 0)
            loops[count - 1].last = level->odd[0] - 2; /* later samples are not certain to be its own */
    }
    return count;
}

int32_t dpd_ended(const struct dpd *dpd, struct dpd_loop *loops, int32_t room)
{
    if (room > 0)
        memcpy(loops, dpd->last, (size_t)(dpd->ended < room ? dpd->ended : room) * sizeof *loops);
    return dpd->ended;
}
