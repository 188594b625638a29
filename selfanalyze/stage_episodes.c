/* Thread safety: the watched thread alone (calls.c). */
#include "stages.h"

#include <string.h>

#include "regions.h"

static uint64_t until[MOST_REGIONS]; /* call up to which iterations were counted, by region */
static uint64_t last_end_ns;         /* of the latest call that has ended */

uint64_t episode_inner_ns(const struct stage *stage)
{
    uint64_t sum = 0;
    for (const struct stage *below = stages; below < stage; below++)
        sum += below->self_ns;
    return sum;
}

void episode_settle(struct stage *stage)
{
    struct episode *episode = &stage->episode;
    if (episode->region == NULL || last_end_ns < episode->begin.at.start_ns)
        return;
    uint64_t span = last_end_ns - episode->begin.at.start_ns;
    uint64_t inner = episode_inner_ns(stage) - episode->begin.inner_ns;
    uint64_t self = span > inner ? span - inner : 0;
    episode->region->self_ns += self - episode->self_ns;
    stage->self_ns += self - episode->self_ns;
    episode->self_ns = self;
}

/* An iteration across several epochs is not timed. */
void episode_account(struct region *region, const struct token *from, const struct token *to)
{
    uint64_t calls = to->at.call - from->at.call;
    if (region->period == 0 || calls < region->period)
        region->period = calls;
    if (calls > region->longest_period)
        region->longest_period = calls;
    if (from->at.epoch == to->at.epoch_before)
        baseline_account(region, from->at.epoch, to->at.start_ns - from->at.start_ns);
}

uint32_t episode_depth(const struct stage *stage)
{
    uint32_t depth = 0;
    for (const struct stage *above = stage + 1; above < stages + MOST_STAGES; above++)
        depth += above->episode.region != NULL;
    return depth;
}

void episode_close(struct stage *stage)
{
    struct region *region = stage->episode.region;
    if (region == NULL)
        return;
    episode_settle(stage);
    region->span_ns += region->episode_ns;
    region->episode_ns = 0;
    stage->until_ns = last_end_ns;
    /* Iterations counted at their last call's end precede the latest token. */
    bool whole = stage->episode.counted == stage->episode.next;
    until[regions_index(region)] = whole ? token_at(stage, stage->count - 1)->at.call : stage->episode.current.at.call;
    baseline_end(region);
    stage->episode = (struct episode){0};
}

/* Return the begin of an episode's time, which is at the earliest the end of the previous episode's: successive loops
 * may share calls. */
static struct token beginning(struct stage *stage, uint64_t first)
{
    struct token begin = *token_at(stage, first);
    if (begin.at.start_ns < stage->until_ns)
        begin.at.start_ns = stage->until_ns;
    return begin;
}

void episode_open(struct stage *stage, struct region *region, const struct dpd_loop *loop, uint64_t first)
{
    uint64_t now = stage->count - 1, period = (uint64_t)loop->period;
    uint64_t counted = until[regions_index(region)];
    region->episodes += region->episodes == 0 || token_at(stage, first)->at.call > counted;
    while (region->iterations > 0 && first < now && token_at(stage, first)->at.call < counted)
        first += period;
    uint64_t done = first < now ? (now - first) / period : 0;
    struct episode *episode = &stage->episode;
    *episode = (struct episode){.region = region, .id = loop->id, .first = loop->first, .period = period};
    episode->next = first <= now ? first + (done + 1) * period : first;
    episode->begin = beginning(stage, first <= now ? first : now);
    episode->current = *token_at(stage, first <= now ? first + done * period : now);
    if (region->iterations == 0)
        region->first_ns = episode->begin.at.start_ns;
    region->iterations += done;
    for (uint64_t at = first; at + period <= now; at += period)
        episode_account(region, token_at(stage, at), token_at(stage, at + period));
    region->parallel_ns += token_at(stage, now)->at.parallel_ns - episode->begin.at.parallel_ns;
    episode_settle(stage);
}

void episode_call_ended(uint64_t end_ns)
{
    last_end_ns = end_ns;
}

void episodes_forget(void)
{
    memset(until, 0, sizeof until);
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        stage->episode = (struct episode){0};
        stage->self_ns = stage->until_ns = 0;
    }
}
