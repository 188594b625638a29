/* Thread safety: the watched thread alone (calls.c). */
#define _GNU_SOURCE
#include "stages.h"

#include <stddef.h>

#include "dpd.h"
#include "functions.h"
#include "regions.h"
#include "sys.h"

struct stage stages[MOST_STAGES];
static int32_t lengths[MOST_REGIONS]; /* number of tokens in an iteration, by region */
static int window;

bool stages_start(int periods)
{
    const struct dpd_options options = {.window = periods};
    window = periods;
    size_t bytes = (dpd_size(&options) + 63) / 64 * 64;
    uint8_t *memory = bytes > 0 ? sys_alloc(MOST_STAGES * bytes) : NULL;
    for (int i = 0; i < MOST_STAGES && memory != NULL; i++)
        stages[i].detector = dpd_init(memory + (size_t)i * bytes, &options);
    return memory != NULL && stages[MOST_STAGES - 1].detector != NULL;
}

/* Return the first token of an iteration. An inner loop appears as its first two iterations, less one token, and then
 * as itself: a repetition may begin in there, but an iteration does not. */
static uint64_t first_of(struct stage *stage, const struct dpd_loop *loop)
{
    for (int32_t i = 0; i < loop->period; i++) {
        uint16_t what = token_at(stage, loop->first + (uint64_t)i)->what;
        if (what >= MOST_FUNCTIONS)
            return loop->first + (uint64_t)(i < 2 * lengths[what - MOST_FUNCTIONS] ? i + 1 : 0);
    }
    return loop->first;
}

/* Return the region of a loop, or NULL if there is no room, or if the loop consists only of its inner loop, which was
 * left and re-entered, or whose iterations vary. */
static struct region *region_of(struct stage *stage, const struct dpd_loop *loop, uint64_t first)
{
    static uint16_t tokens[RING];
    for (int32_t i = 0; i < loop->period; i++)
        tokens[i] = token_at(stage, first + (uint64_t)i)->what;
    struct region *region = members_region(tokens, (size_t)loop->period);
    for (const struct stage *other = stages; other < stages + MOST_STAGES; other++)
        if (other->episode.region == region)
            return NULL;
    if (region != NULL)
        lengths[regions_index(region)] = loop->period;
    return region;
}

/* Return whether to take a loop. It must contain no other loop: inner loops are tokens of the next stage, where the
 * outer loop is found too. At a later stage it must contain such a token, because all others are found earlier. A loop
 * is taken as soon as it is found, or never. */
static bool may_take(const struct stage *stage, const struct dpd_loop *loop)
{
    uint64_t from = stage->count - (uint64_t)loop->period;
    return stage->count - loop->first <= RING && stage->inside <= from && (stage == stages || stage->folded > from) &&
           stage->refused != loop->first + 1;
}

static void take_one(struct stage *stage, const struct dpd_loop *loops, int levels)
{
    for (int i = levels; i-- > 0;) {
        if (!may_take(stage, &loops[i]))
            continue;
        uint64_t first = first_of(stage, &loops[i]);
        struct region *region = region_of(stage, &loops[i], first);
        if (region != NULL)
            episode_open(stage, region, &loops[i], first);
        else
            stage->refused = loops[i].first + 1;
        return;
    }
}

static bool is_continued(const struct episode *episode, const struct dpd_loop *loops, int levels)
{
    for (int i = 0; i < levels; i++)
        if (episode->region != NULL && loops[i].id == episode->id && loops[i].first == episode->first)
            return true;
    return false;
}

static void follow(struct stage *stage, const struct token *token, const void *caller)
{
    struct episode *episode = &stage->episode;
    struct dpd_loop loops[DPD_LEVELS];
    int levels = dpd_loops(stage->detector, loops, DPD_LEVELS);
    uint64_t now = stage->count - 1;
    bool begins;
    if (is_continued(episode, loops, levels)) {
        begins = now == episode->next;
        if (begins) {
            episode_account(episode->region, &episode->current, token);
            episode->current = *token;
            episode->next += episode->period;
        }
    } else {
        episode_close(stage);
        take_one(stage, loops, levels);
        begins = now + episode->period == episode->next;
    }
    if (episode->region == NULL)
        return;
    stage->inside = stage->count;
    uint32_t depth = episode_depth(stage);
    if (depth > episode->region->depth)
        episode->region->depth = depth; /* the surrounding loop is found later */
    if (begins)
        baseline_boundary(episode->region, depth == 0 && explicit_count() == 0, caller);
}

static int64_t value_of(uint16_t what)
{
    return what < MOST_FUNCTIONS ? functions_get(what)->value : (int64_t)regions_at(what - MOST_FUNCTIONS)->hash;
}

void stages_begin(const struct call *call, const void *caller)
{
    struct token token = {.at = *call, .what = call->function};
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        bool was_in = stage->episode.region != NULL;
        uint64_t was_first = stage->episode.first;
        token.inner_ns = episode_inner_ns(stage);
        *token_at(stage, stage->count++) = token;
        if (token.what >= MOST_FUNCTIONS)
            stage->folded = stage->count;
        dpd_event(stage->detector, value_of(token.what), NULL);
        follow(stage, &token, caller);
        if (stage->episode.region == NULL)
            continue;
        if (was_in && stage->episode.first == was_first)
            return; /* the stages above have recorded it */
        token.what = (uint16_t)(MOST_FUNCTIONS + regions_index(stage->episode.region));
    }
}

void stages_note(uint32_t epoch, int threads)
{
    for (struct stage *stage = stages; stage < stages + MOST_STAGES && stage->count > 0; stage++) {
        struct token *latest = token_at(stage, stage->count - 1);
        if (latest->at.call == token_at(stages, stages->count - 1)->at.call)
            latest->at.epoch = epoch;
        if (stage->episode.region != NULL && stage->episode.current.at.call == latest->at.call)
            stage->episode.current.at.epoch = latest->at.epoch;
        if (baseline_is_usual())
            regions_note_threads(stage->episode.region, threads);
    }
}

void stages_end(uint64_t start_ns, uint64_t end_ns)
{
    episode_call_ended(end_ns);
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        struct episode *episode = &stage->episode;
        if (episode->region == NULL)
            continue;
        regions_add_call(episode->region, start_ns, end_ns, episode->begin.at.start_ns);
        episode_settle(stage);
        if (stage->count != episode->next || episode->counted == episode->next)
            continue;
        episode->region->iterations++; /* its last parallel region has ended, or is in a loop that is its last part */
        episode->counted = episode->next;
    }
}

void stages_break(void)
{
    const struct dpd_options options = {.window = window};
    for (struct stage *stage = stages; stage < stages + MOST_STAGES && stage->detector != NULL; stage++) {
        episode_close(stage);
        dpd_init(stage->detector, &options);
        stage->count = stage->folded = stage->inside = stage->refused = 0;
    }
}

void stages_forget(void)
{
    episodes_forget();
    stages_break();
}
