/* The part of a repetition that consists of whole visits to other loops.
 *
 * If a loop ends and soon recurs, the samples on both sides of the gap look like a repetition: `abcabc|cabcabc` has
 * `cabc` twice. So another pattern does not count from inside a visit on, nor from its begin if that visit is longer
 * one period later, nor up to inside a visit that still continues. Ended visits are remembered. One inside a later
 * visit is forgotten, because that one extends as far. */
#include "dpd_internal.h"

static struct visit *latest(struct dpd *dpd)
{
    return &dpd->visit[(dpd->visits - 1) & (DPD_VISITS - 1)];
}

void dpd_overlap_remember(struct dpd *dpd, const struct dpd_loop *loop)
{
    uint32_t least = dpd->visits > DPD_VISITS ? dpd->visits - DPD_VISITS : 0;
    while (dpd->visits > least && latest(dpd)->first >= loop->first)
        dpd->visits--;
    if (dpd->visits > 0 && latest(dpd)->last >= loop->last)
        return;
    dpd->visits++;
    *latest(dpd) = (struct visit){loop->first, loop->last, loop->period};
}

/* Return the earliest ended visit that contains a sample, or NULL. */
static const struct visit *visit_at(const struct dpd *dpd, uint64_t index)
{
    const struct visit *found = NULL;
    for (uint32_t at = dpd->visits; at > 0 && dpd->visits - at < DPD_VISITS; at--) {
        const struct visit *visit = &dpd->visit[(at - 1) & (DPD_VISITS - 1)];
        if (visit->last < index)
            break;
        if (visit->first <= index)
            found = visit;
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
    const struct visit *visit = visit_at(dpd, low);
    if (visit && visit->first == low && visit->period < lag && began_before(dpd, visit->period, low + (uint64_t)lag))
        return visit->last + 1;
    return dpd_overlap_after(dpd, low);
}

uint64_t dpd_overlap_after(const struct dpd *dpd, uint64_t first)
{
    const struct visit *visit = visit_at(dpd, first);
    return visit && visit->first < first ? visit->last + 1 : first;
}

uint64_t dpd_overlap_end(const struct dpd *dpd, int32_t lag, uint64_t index)
{
    const struct visit *visit = visit_at(dpd, index - (uint64_t)lag);
    return visit && visit->period < lag ? dpd_overlap_after(dpd, visit->first) + (uint64_t)lag : index + 1;
}
