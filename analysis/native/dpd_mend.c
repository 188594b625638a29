/* Decides whether a loop continues after an odd sample. Three hypotheses are followed for a period, by the loop's
 * previous samples: the sample replaces one of the loop's, is additional, or one of the loop's is missing before it.
 * After a whole period at most one is left, and the lag alone decides again. */
#include "dpd_internal.h"

/* Fewest samples, so that short loops are not mended by chance. */
#define FEWEST 8

static int32_t next(int32_t phase, int32_t period)
{
    return phase + 1 == period ? 0 : phase + 1;
}

bool dpd_mend_begin(struct dpd *dpd, struct level *level, uint64_t index, int64_t sample)
{
    int32_t period = level->loop.period, phase = level->phase, free = 0;
    while (free < DPD_MENDS && dpd->mend[free].used)
        free++;
    if (free == DPD_MENDS || level->loop.starts == 0)
        return false;
    struct mend *mend = &dpd->mend[free];
    mend->used = true;
    mend->samples = 0;
    for (int32_t back = period, at = phase; back > 0; back--, at = next(at, period))
        mend->pattern[at] = dpd_sample(dpd, back);
    int32_t after = next(phase, period);
    mend->phase[0] = after;
    mend->phase[1] = phase;
    mend->phase[2] = sample == mend->pattern[after] ? next(after, period) : -1;
    level->mend = free;
    level->odd[1] = level->odd[0];
    level->odd[0] = index + 1;
    return true;
}

bool dpd_mend_begins(const struct dpd *dpd, const struct level *level)
{
    return dpd->mend[level->mend].phase[2] == next(0, level->loop.period);
}

static int32_t likeliest(const struct mend *mend)
{
    for (int i = 0; i < DPD_HYPOTHESES; i++)
        if (mend->phase[i] >= 0)
            return mend->phase[i];
    return -1;
}

enum mend_verdict dpd_mend_follow(struct dpd *dpd, struct level *level, int64_t sample)
{
    struct mend *mend = &dpd->mend[level->mend];
    int32_t period = level->loop.period;
    for (int i = 0; i < DPD_HYPOTHESES; i++)
        if (mend->phase[i] >= 0)
            mend->phase[i] = mend->pattern[mend->phase[i]] == sample ? next(mend->phase[i], period) : -1;
    int32_t phase = likeliest(mend);
    if (phase < 0)
        return MEND_FAILED;
    level->phase = (phase + period - 1) % period;
    mend->samples++;
    return mend->samples >= (period > FEWEST ? period : FEWEST) ? MEND_DONE : MEND_OPEN;
}

int64_t dpd_mend_predict(const struct dpd *dpd, const struct level *level, int32_t ahead)
{
    const struct mend *mend = &dpd->mend[level->mend];
    return mend->pattern[(likeliest(mend) + (int64_t)ahead - 1) % level->loop.period];
}

void dpd_mend_drop(struct dpd *dpd, struct level *level)
{
    dpd->mend[level->mend].used = false;
    level->mend = -1;
}
