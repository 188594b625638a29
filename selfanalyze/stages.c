/* Who may touch what: the watched thread alone (calls.c). */
#define _GNU_SOURCE
#include "stages.h"

#include <stddef.h>
#include <string.h>

#include "baseline.h"
#include "dpd.h"
#include "explicit_loops.h"
#include "functions.h"
#include "members.h"
#include "regions.h"
#include "sys.h"

#define MOST_STAGES 4
#define RING 4096 /* more than two periods and what was before them */

/* A call, or a loop of the stage below: then it is the call at which that was found. */
struct token {
    struct call at;
    uint64_t inner_ns; /* in loops of the stages below, before it */
    uint16_t what;     /* function, or MOST_FUNCTIONS and the region's index */
};

/* The loop that a stage is in. Iterations begin with tokens first, first + period, ... */
struct visit {
    struct region *region; /* NULL: it is in none */
    uint32_t id;
    uint64_t first, period, next;
    uint64_t counted;       /* `next` of the latest iteration that was counted when its last call ended */
    struct token begin;     /* where its time begins */
    struct token under_way; /* the first token of the latest iteration */
    uint64_t self_ns;
};

struct stage {
    struct dpd *detector;
    uint64_t count;    /* tokens since the last break; the latest is count - 1 */
    uint64_t folded;   /* 1 + index of the latest one that is a loop; 0: none */
    uint64_t inside;   /* 1 + index of the latest one within a visit; 0: none */
    uint64_t refused;  /* 1 + first token of the latest loop that was not taken; 0: none */
    uint64_t self_ns;  /* in all visits, without those of the stages below */
    uint64_t until_ns; /* end of the latest visit */
    struct visit visit;
    struct token ring[RING];
};

static struct stage stages[MOST_STAGES];
static uint64_t until[MOST_REGIONS];  /* the call up to which a region's iterations were counted */
static int32_t periods[MOST_REGIONS]; /* tokens in an iteration of a region */
static uint64_t last_end_ns;          /* of the latest call that has ended */
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

static struct token *token_at(struct stage *stage, uint64_t index)
{
    return &stage->ring[index % RING];
}

static uint64_t inner_ns(const struct stage *stage)
{
    uint64_t sum = 0;
    for (const struct stage *below = stages; below < stage; below++)
        sum += below->self_ns;
    return sum;
}

/* Time in the visit and in no loop within it. It may become less: a loop within is found after its second iteration. */
static void settle(struct stage *stage)
{
    struct visit *visit = &stage->visit;
    if (visit->region == NULL || last_end_ns < visit->begin.at.start_ns)
        return;
    uint64_t span = last_end_ns - visit->begin.at.start_ns;
    uint64_t inner = inner_ns(stage) - visit->begin.inner_ns;
    uint64_t self = span > inner ? span - inner : 0;
    visit->region->self_ns += self - visit->self_ns;
    stage->self_ns += self - visit->self_ns;
    visit->self_ns = self;
}

/* An iteration that lay in several epochs has no time of its own. */
static void account(struct region *region, const struct token *from, const struct token *to)
{
    uint64_t calls = to->at.call - from->at.call;
    if (region->period == 0 || calls < region->period)
        region->period = calls;
    if (calls > region->longest_period)
        region->longest_period = calls;
    if (from->at.epoch == to->at.epoch_before)
        baseline_account(region, from->at.epoch, to->at.start_ns - from->at.start_ns);
}

static uint32_t depth_of(const struct stage *stage)
{
    uint32_t depth = 0;
    for (const struct stage *above = stage + 1; above < stages + MOST_STAGES; above++)
        depth += above->visit.region != NULL;
    return depth;
}

static void close_visit(struct stage *stage, const void *caller)
{
    struct region *region = stage->visit.region;
    if (region == NULL)
        return;
    settle(stage);
    region->span_ns += region->visit_ns;
    region->visit_ns = 0;
    stage->until_ns = last_end_ns;
    /* What was counted when its last call ended lies before the latest token. */
    bool whole = stage->visit.counted == stage->visit.next;
    until[regions_index(region)] = whole ? token_at(stage, stage->count - 1)->at.call : stage->visit.under_way.at.call;
    baseline_end(region, caller);
    stage->visit = (struct visit){0};
}

/* The time of a visit begins where that of the one before has ended: loops that follow each other may share calls. */
static struct token beginning(struct stage *stage, uint64_t first)
{
    struct token begin = *token_at(stage, first);
    if (begin.at.start_ns < stage->until_ns)
        begin.at.start_ns = stage->until_ns;
    return begin;
}

/* What was before the loop was known is timed now, as far as it is remembered. */
static void open_visit(struct stage *stage, struct region *region, const struct dpd_loop *loop, uint64_t first)
{
    uint64_t now = stage->count - 1, period = (uint64_t)loop->period;
    uint64_t counted = until[regions_index(region)];
    region->visits += region->visits == 0 || token_at(stage, first)->at.call > counted;
    while (region->iterations > 0 && first < now && token_at(stage, first)->at.call < counted)
        first += period;
    uint64_t done = first < now ? (now - first) / period : 0;
    struct visit *visit = &stage->visit;
    *visit = (struct visit){.region = region, .id = loop->id, .first = loop->first, .period = period};
    visit->next = first <= now ? first + (done + 1) * period : first;
    visit->begin = beginning(stage, first <= now ? first : now);
    visit->under_way = *token_at(stage, first <= now ? first + done * period : now);
    if (region->iterations == 0)
        region->first_ns = visit->begin.at.start_ns;
    region->iterations += done;
    for (uint64_t at = first; at + period <= now; at += period)
        account(region, token_at(stage, at), token_at(stage, at + period));
    region->parallel_ns += token_at(stage, now)->at.parallel_ns - visit->begin.at.parallel_ns;
    settle(stage);
}

/* The first token of an iteration. A loop within is seen as its first two iterations, less one token, and itself: what
 * repeats may begin in there, but no iteration does. */
static uint64_t first_of(struct stage *stage, const struct dpd_loop *loop)
{
    for (int32_t i = 0; i < loop->period; i++) {
        uint16_t what = token_at(stage, loop->first + (uint64_t)i)->what;
        if (what >= MOST_FUNCTIONS)
            return loop->first + (uint64_t)(i < 2 * periods[what - MOST_FUNCTIONS] ? i + 1 : 0);
    }
    return loop->first;
}

/* The region of a loop, or NULL: there is no room for it, or it is nothing but the loop within it, which was left and
 * came back, or goes round in more than one way. */
static struct region *region_of(struct stage *stage, const struct dpd_loop *loop, uint64_t first)
{
    static uint16_t tokens[RING];
    for (int32_t i = 0; i < loop->period; i++)
        tokens[i] = token_at(stage, first + (uint64_t)i)->what;
    struct region *region = members_region(tokens, (size_t)loop->period);
    for (const struct stage *other = stages; other < stages + MOST_STAGES; other++)
        if (other->visit.region == region)
            return NULL;
    if (region != NULL)
        periods[regions_index(region)] = loop->period;
    return region;
}

/* A loop is taken when no other one lies in it: those are tokens of the next stage, where it is found as well. There it
 * must have such a token: all others are found before. And it is taken as soon as it is found, or never. */
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
            open_visit(stage, region, &loops[i], first);
        else
            stage->refused = loops[i].first + 1;
        return;
    }
}

static bool goes_on(const struct visit *visit, const struct dpd_loop *loops, int levels)
{
    for (int i = 0; i < levels; i++)
        if (visit->region != NULL && loops[i].id == visit->id && loops[i].first == visit->first)
            return true;
    return false;
}

static void follow(struct stage *stage, const struct token *token, const void *caller)
{
    struct visit *visit = &stage->visit;
    struct dpd_loop loops[DPD_LEVELS];
    int levels = dpd_loops(stage->detector, loops, DPD_LEVELS);
    uint64_t now = stage->count - 1;
    bool begins;
    if (goes_on(visit, loops, levels)) {
        begins = now == visit->next;
        if (begins) {
            account(visit->region, &visit->under_way, token);
            visit->under_way = *token;
            visit->next += visit->period;
        }
    } else {
        close_visit(stage, caller);
        take_one(stage, loops, levels);
        begins = now + visit->period == visit->next;
    }
    if (visit->region == NULL)
        return;
    stage->inside = stage->count;
    uint32_t depth = depth_of(stage);
    if (depth > visit->region->depth)
        visit->region->depth = depth; /* the loop around it is found later than itself */
    if (begins)
        baseline_boundary(visit->region, depth == 0 && explicit_count() == 0, caller);
}

static int64_t value_of(uint16_t what)
{
    return what < MOST_FUNCTIONS ? functions_get(what)->value : (int64_t)regions_at(what - MOST_FUNCTIONS)->hash;
}

void stages_begin(const struct call *call, const void *caller)
{
    struct token token = {.at = *call, .what = call->function};
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        bool was_in = stage->visit.region != NULL;
        uint64_t was_first = stage->visit.first;
        token.inner_ns = inner_ns(stage);
        *token_at(stage, stage->count++) = token;
        if (token.what >= MOST_FUNCTIONS)
            stage->folded = stage->count;
        dpd_event(stage->detector, value_of(token.what), NULL);
        follow(stage, &token, caller);
        if (stage->visit.region == NULL)
            continue;
        if (was_in && stage->visit.first == was_first)
            return; /* the stages above know of it */
        token.what = (uint16_t)(MOST_FUNCTIONS + regions_index(stage->visit.region));
    }
}

void stages_note(uint32_t epoch, int threads)
{
    for (struct stage *stage = stages; stage < stages + MOST_STAGES && stage->count > 0; stage++) {
        struct token *latest = token_at(stage, stage->count - 1);
        if (latest->at.call == token_at(stages, stages->count - 1)->at.call)
            latest->at.epoch = epoch;
        if (stage->visit.region != NULL && stage->visit.under_way.at.call == latest->at.call)
            stage->visit.under_way.at.epoch = latest->at.epoch;
        if (baseline_is_usual())
            regions_note_threads(stage->visit.region, threads);
    }
}

void stages_end(uint64_t start_ns, uint64_t end_ns)
{
    last_end_ns = end_ns;
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        struct visit *visit = &stage->visit;
        if (visit->region == NULL)
            continue;
        regions_add_call(visit->region, start_ns, end_ns, visit->begin.at.start_ns);
        settle(stage);
        if (stage->count != visit->next || visit->counted == visit->next)
            continue;
        visit->region->iterations++; /* its last parallel region is done, or in a loop that is its last part */
        visit->counted = visit->next;
    }
}

void stages_break(const void *caller)
{
    const struct dpd_options options = {.window = window};
    for (struct stage *stage = stages; stage < stages + MOST_STAGES && stage->detector != NULL; stage++) {
        close_visit(stage, caller);
        dpd_init(stage->detector, &options);
        stage->count = stage->folded = stage->inside = stage->refused = 0;
    }
}

void stages_forget(void)
{
    memset(until, 0, sizeof until);
    for (struct stage *stage = stages; stage < stages + MOST_STAGES; stage++) {
        stage->visit = (struct visit){0};
        stage->self_ns = stage->until_ns = 0;
    }
    stages_break(NULL);
}
