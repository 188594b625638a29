/* Nested loops, from the runs of matches of all lags.
 *
 * When run[m] reaches its threshold (m, with DPD_ADAPTIVE), the latest samples form a square: a pattern of length m,
 * twice. It is a separate loop unless it consists of whole periods of a shorter one that was present all the time. The
 * lengths of such primitive squares that end at the same sample grow like Fibonacci numbers (the three squares lemma),
 * so there are few levels: 32 suffice for a window of DPD_MAX_WINDOW. */
#include "dpd_internal.h"

#include <string.h>

/* Account for an ended loop that overlaps others, which do not count yet. */
static void explain(struct dpd *dpd, const struct dpd_loop *ended)
{
    for (int32_t i = 0; i < dpd->levels; i++) {
        struct level *level = &dpd->level[i];
        if (ended->first < level->loop.first && ended->last >= level->loop.own)
            level->loop.own = ended->last + 1;
    }
}

void dpd_levels_end(struct dpd *dpd, int32_t at)
{
    struct level *level = &dpd->level[at];
    if (level->counts) {
        const struct dpd_loop *loop = &level->loop;
        dpd->last[dpd->ended++] = *loop;
        /* A loop of only two iterations explains nothing: it may as well be explained by the other. */
        if (loop->last - loop->first + 1 > (uint64_t)(loop->period > 1 ? 2 * loop->period : 3)) {
            dpd_overlap_remember(dpd, loop);
            explain(dpd, loop);
        }
    } else {
        dpd->watched--;
    }
    if (level->mend >= 0)
        dpd_mend_drop(dpd, level);
    dpd->recheck |= level->hides;
    dpd->levels--;
    memmove(level, level + 1, (size_t)(dpd->levels - at) * sizeof *level);
}

/* Advance a level by a sample of its own, at level->phase. */
static void advance(struct level *level, uint64_t index, bool mending)
{
    struct dpd_loop *loop = &level->loop;
    loop->last = index;
    /* While a loop mends, its start may move back by one sample: that is not a new period. */
    bool twice = mending && loop->starts != 0 && index - loop->start + 1 < (uint64_t)loop->period;
    if (level->phase == 0 && !twice) {
        loop->start = index;
        loop->starts++;
        level->spoilt = false;
    }
    if (++level->phase == loop->period) {
        level->phase = 0;
        loop->whole += loop->starts != 0 && !level->spoilt;
    }
}

/* Start mending. The odd sample begins a period if it is at the start of one, or if it equals a period's first sample
 * and the end of the previous period is missing. */
static void interrupt(const struct dpd *dpd, struct level *level, uint64_t index)
{
    if (level->phase == 0 || dpd_mend_begins(dpd, level)) {
        level->loop.start = index;
        level->loop.starts++;
    }
    level->spoilt = true;
}

static void follow(struct dpd *dpd, int32_t at, uint64_t index, int64_t sample)
{
    struct level *level = &dpd->level[at];
    if (level->mend >= 0) {
        uint64_t last = level->odd[0] - 2; /* odd is 1 + index, and the loop lasted until the sample before */
        switch (dpd_mend_follow(dpd, level, sample)) {
        case MEND_FAILED:
            level->loop.last = last;
            dpd_levels_end(dpd, at);
            return;
        case MEND_DONE:
            level->loop.odd++;
            dpd_mend_drop(dpd, level);
            break;
        case MEND_OPEN:
            break;
        }
        advance(level, index, true);
    } else if (dpd->run[level->loop.period - 1] != 0) {
        advance(level, index, false);
    } else if (dpd->options.tolerance && level->counts && dpd_mend_begin(dpd, level, index, sample)) {
        interrupt(dpd, level, index);
    } else {
        dpd_levels_end(dpd, at);
    }
}

/* Return whether a level explains the pattern of `lag` samples, which repeats from sample `low` on. */
static bool explained(struct level *level, int32_t lag, uint64_t low)
{
    int32_t period = level->loop.period, rest = lag % period;
    uint64_t clean = level->odd[0] > level->loop.first ? level->odd[0] : level->loop.first;
    if (lag == period || (rest == 0 && clean <= low))
        return true;
    /* A loop with one sample more or less resembles another loop for a while. Two odd samples in two periods may be
     * such a loop. */
    bool once = level->odd[0] > low && level->odd[1] <= low;
    if (once && (rest <= 1 || rest == period - 1)) {
        level->hides = true;
        return true;
    }
    return false;
}

static void consider(struct dpd *dpd, int32_t lag, uint64_t index)
{
    uint64_t run = dpd->run[lag - 1];
    uint64_t low = index + 1 - (uint64_t)lag - (run < DPD_RUN_MOST ? run : (uint64_t)dpd_needed(dpd, lag));
    int32_t at = 0;
    for (int32_t i = 0; i < dpd->levels; i++) {
        if (explained(&dpd->level[i], lag, low))
            return;
        at += dpd->level[i].loop.period > lag;
    }
    if (dpd->levels == DPD_LEVELS)
        return;
    struct level *level = &dpd->level[at];
    memmove(level + 1, level, (size_t)(dpd->levels - at) * sizeof *level);
    dpd->levels++;
    memset(level, 0, sizeof *level);
    level->mend = -1;
    level->loop.period = lag;
    level->loop.first = low;
    level->loop.last = index;
    level->loop.own = dpd_overlap_begin(dpd, lag, low);
    dpd->watched++;
}

/* Let a level count once it has repeated for the length needed to detect it, of which only whole episodes of other
 * loops are included. */
static void count(struct dpd *dpd, uint64_t index)
{
    uint64_t inner = index + 1; /* begin of the inner loops that still continue */
    for (int32_t i = dpd->levels - 1; i >= 0; i--) {
        struct level *level = &dpd->level[i];
        int32_t period = level->loop.period;
        uint64_t needed = level->loop.own + (uint64_t)(period + dpd_needed(dpd, period));
        if (!level->counts && needed <= inner && needed <= dpd_overlap_end(dpd, period, index)) {
            level->counts = true;
            level->loop.starts = level->loop.whole = 0;
            level->loop.found = index;
            dpd_identify(dpd, &level->loop);
            dpd->watched--;
        }
        uint64_t begin = level->counts ? dpd_overlap_after(dpd, level->loop.first) : inner;
        if (begin < inner)
            inner = begin;
    }
}

/* Lags tested together for a hit, and then in shorter vectors that every processor has. */
#define TOGETHER (4 * DPD_BLOCK)
#define FEW 8

typedef uint16_t few __attribute__((vector_size(FEW * sizeof(uint16_t))));

static bool few_meet(const uint16_t *run, const uint16_t *threshold)
{
    few a, b;
    uint64_t halves[2];
    memcpy(&a, run, sizeof a);
    memcpy(&b, threshold, sizeof b);
    a = (few)(a == b);
    memcpy(halves, &a, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* Find the lags whose run has just reached its threshold. */
static void find(struct dpd *dpd, uint64_t index)
{
    for (int32_t from = 0; from < dpd->padded; from += TOGETHER) {
        int32_t end = from + TOGETHER < dpd->padded ? from + TOGETHER : dpd->padded;
        if (!dpd->kernels->meets(dpd->run + from, dpd->threshold + from, (size_t)(end - from)))
            continue;
        for (int32_t base = from; base < end; base += FEW)
            if (few_meet(dpd->run + base, dpd->threshold + base))
                for (int32_t j = base; j < base + FEW; j++)
                    if (dpd->run[j] == dpd->threshold[j])
                        consider(dpd, j + 1, index);
    }
}

/* The same if that may have been missed. */
static void find_again(struct dpd *dpd, uint64_t index)
{
    for (int32_t j = 0; j < dpd->lags; j++)
        if (dpd->run[j] >= dpd->threshold[j])
            consider(dpd, j + 1, index);
}

int dpd_levels_follow(struct dpd *dpd, uint64_t index, bool reached, int64_t sample)
{
    for (int32_t i = dpd->levels - 1; i >= 0; i--)
        follow(dpd, i, index, sample);
    if (dpd->recheck)
        find_again(dpd, index);
    else if (reached)
        find(dpd, index);
    dpd->recheck = false;
    if (dpd->watched != 0)
        count(dpd, index);
    const struct level *outermost = dpd_outermost(dpd);
    return outermost && outermost->loop.starts != 0 && outermost->loop.start == index;
}
