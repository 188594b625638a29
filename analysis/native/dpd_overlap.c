/* The part of a repetition that consists of whole episodes of other loops.
 *
 * If a loop ends and soon recurs, the samples on both sides of the gap look like a repetition: `abcabc|cabcabc` has
 * `cabc` twice. So another pattern does not count from inside an episode on, nor from its begin if that episode is
 * longer one period later, nor up to inside an episode that still continues. Ended episodes are remembered. One inside
 * a later episode is forgotten, because that one extends as far. */
#include "dpd_internal.h"

static struct episode *latest(struct dpd *dpd)
{
    return &dpd->episode[(dpd->episodes - 1) & (DPD_EPISODES - 1)];
}

void dpd_overlap_remember(struct dpd *dpd, const struct dpd_loop *loop)
{
    uint32_t least = dpd->episodes > DPD_EPISODES ? dpd->episodes - DPD_EPISODES : 0;
    while (dpd->episodes > least && latest(dpd)->first >= loop->first)
        dpd->episodes--;
    if (dpd->episodes > 0 && latest(dpd)->last >= loop->last)
        return;
    dpd->episodes++;
    *latest(dpd) = (struct episode){loop->first, loop->last, loop->period};
}

/* Return the earliest ended episode that contains a sample, or NULL. */
static const struct episode *episode_at(const struct dpd *dpd, uint64_t index)
{
    const struct episode *found = NULL;
    for (uint32_t at = dpd->episodes; at > 0 && dpd->episodes - at < DPD_EPISODES; at--) {
        const struct episode *episode = &dpd->episode[(at - 1) & (DPD_EPISODES - 1)];
        if (episode->last < index)
            break;
        if (episode->first <= index)
            found = episode;
    }
    return found;
}

/* Return whether the repetition with this period that contains the sample `index` began before it. */
static bool began_before(const struct dpd *dpd, int32_t period, uint64_t index)
{
    uint64_t back = dpd->count - index; /* of the sample before */
    return back >= (uint64_t)period && back < (uint64_t)dpd->window &&
           dpd_past(dpd)[back] == dpd_past(dpd)[back - (uint64_t)period];
}

uint64_t dpd_overlap_begin(const struct dpd *dpd, int32_t lag, uint64_t low)
{
    const struct episode *episode = episode_at(dpd, low);
    if (episode && episode->first == low && episode->period < lag &&
        began_before(dpd, episode->period, low + (uint64_t)lag))
        return episode->last + 1;
    return dpd_overlap_after(dpd, low);
}

uint64_t dpd_overlap_after(const struct dpd *dpd, uint64_t first)
{
    const struct episode *episode = episode_at(dpd, first);
    return episode && episode->first < first ? episode->last + 1 : first;
}

uint64_t dpd_overlap_end(const struct dpd *dpd, int32_t lag, uint64_t index)
{
    const struct episode *episode = episode_at(dpd, index - (uint64_t)lag);
    return episode && episode->period < lag ? dpd_overlap_after(dpd, episode->first) + (uint64_t)lag : index + 1;
}
