/* Who may touch what: the watched thread alone (calls.c), but for `total` and `others`, which are atomic: the writing
 * thread reads both, and any other thread adds to the second. */
#define _GNU_SOURCE
#include "loops.h"

#include <stddef.h>
#include <string.h>

#include "baseline.h"
#include "dpd.h"
#include "explicit_loops.h"
#include "openmp.h"
#include "sys.h"

#define RING 4096 /* more than two periods and what was before them */

/* A parallel region. An iteration that ends before it is timed from `start_ns` to `start_ns`. */
struct call {
    uint64_t start_ns, end_ns;
    uint32_t epoch;
    uint16_t function;
};

/* A loop that the program is in. Iterations begin with calls first, first + period, ... */
struct visit {
    uint32_t id;
    struct region *region; /* NULL: no room for it */
    uint64_t first, next, start_ns;
    uint64_t period;
    bool seen;
};

static struct dpd *detector;
static struct call ring[RING];
static uint64_t count;         /* calls since the last break; the latest is count - 1 */
static uint64_t total, others; /* calls so far, of this thread and of others */
static struct visit visits[DPD_LEVELS];
static int visit_count;
static int window;
static const void *run_time; /* an address in the program that last called it */

bool loops_start(int periods)
{
    const struct dpd_options options = {.window = periods};
    window = periods;
    size_t bytes = dpd_size(&options);
    void *memory = bytes > 0 ? sys_alloc(bytes) : NULL;
    detector = memory != NULL ? dpd_init(memory, &options) : NULL;
    return detector != NULL;
}

static struct call *call_at(uint64_t index)
{
    return &ring[index % RING];
}

static bool is_kept(uint64_t index)
{
    return index < count && count - index <= RING;
}

/* An iteration that lay in several epochs has no time of its own. */
static void account(struct region *region, uint64_t from, uint64_t to)
{
    if (!is_kept(from) || call_at(from)->epoch != call_at(to - 1)->epoch)
        return;
    baseline_account(region, call_at(from)->epoch, call_at(to)->start_ns - call_at(from)->start_ns);
}

static void describe(struct region *region, const struct visit *visit)
{
    uint64_t from = is_kept(visit->first) ? visit->first : count - 1 - (count - 1 - visit->first) % visit->period;
    region->member_count = visit->period < MOST_MEMBERS ? (uint32_t)visit->period : MOST_MEMBERS;
    for (uint32_t i = 0; i < region->member_count; i++)
        region->members[i] = call_at(from + i)->function;
    region->first_ns = call_at(from)->start_ns;
}

/* What was before the loop was known is timed now, as far as it is remembered. */
static void open_visit(struct visit *visit, const struct dpd_loop *loop, int depth)
{
    uint64_t now = count - 1;
    uint64_t period = (uint64_t)loop->period;
    uint64_t iterations = (now - loop->first) / period;
    *visit = (struct visit){.id = loop->id, .first = loop->first, .period = period};
    visit->next = loop->first + (iterations + 1) * period;
    visit->start_ns = call_at(is_kept(loop->first) ? loop->first : now)->start_ns;
    struct region *region = visit->region = regions_find(loop->hash, (uint32_t)period, false);
    if (region == NULL)
        return;
    if (region->visits++ == 0)
        describe(region, visit);
    if ((uint32_t)depth > region->depth)
        region->depth = (uint32_t)depth; /* the loop around it is found later than itself */
    region->iterations += iterations;
    uint64_t known = is_kept(loop->first) ? loop->first : visit->next - (RING / period - 1) * period;
    for (uint64_t at = known; at + period <= now; at += period)
        account(region, at, at + period);
    for (uint64_t at = known; at < now; at++)
        region->parallel_ns += call_at(at)->end_ns - call_at(at)->start_ns;
}

static void close_visit(struct visit *visit)
{
    struct region *region = visit->region;
    if (region != NULL) {
        region->span_ns += region->visit_ns;
        region->visit_ns = 0;
        baseline_end(region, run_time);
    }
    *visit = visits[--visit_count];
}

static struct visit *visit_of(const struct dpd_loop *loop)
{
    for (int i = 0; i < visit_count; i++)
        if (visits[i].id == loop->id && visits[i].first == loop->first)
            return &visits[i];
    return NULL;
}

static void follow(const struct dpd_loop *loop, int depth)
{
    struct visit *visit = visit_of(loop);
    bool begins = false;
    if (visit == NULL && visit_count < DPD_LEVELS) {
        visit = &visits[visit_count++];
        open_visit(visit, loop, depth);
        begins = count - 1 + visit->period == visit->next;
    } else if (visit != NULL && count - 1 == visit->next) {
        if (visit->region != NULL)
            account(visit->region, visit->next - visit->period, visit->next);
        visit->next += visit->period;
        begins = true;
    }
    if (visit == NULL)
        return;
    visit->seen = true;
    if (begins && visit->region != NULL)
        baseline_boundary(visit->region, depth == 0 && explicit_count() == 0, run_time);
}

static void follow_all(void)
{
    struct dpd_loop loops[DPD_LEVELS];
    int levels = dpd_loops(detector, loops, DPD_LEVELS);
    for (int i = 0; i < levels; i++)
        if (visit_of(&loops[i]) != NULL)
            visit_of(&loops[i])->seen = true;
    for (int i = visit_count; i-- > 0;)
        if (!visits[i].seen)
            close_visit(&visits[i]);
    for (int i = 0; i < levels; i++)
        follow(&loops[i], i);
    for (int i = 0; i < visit_count; i++)
        visits[i].seen = false;
}

void loops_enter(const struct function *function, int threads, const void *caller)
{
    run_time = caller;
    struct call *call = call_at(count);
    *call = (struct call){.start_ns = monotonic_ns(), .function = (uint16_t)function->id};
    count++;
    __atomic_store_n(&total, total + 1, __ATOMIC_RELAXED);
    dpd_event(detector, function->value, NULL);
    regions_begin_change();
    follow_all();
    if (threads == 0) /* not before: the number may have been changed, or changed back, by now */
        threads = openmp_max_threads(caller);
    for (int i = 0; i < visit_count && baseline_is_usual(); i++)
        regions_note_threads(visits[i].region, threads);
    explicit_threads(threads);
    call->epoch = baseline_epoch();
    regions_end_change();
}

void loops_leave(void)
{
    if (count == 0)
        return;
    struct call *call = call_at(count - 1);
    call->end_ns = monotonic_ns();
    regions_begin_change();
    for (int i = 0; i < visit_count; i++) {
        struct region *region = visits[i].region;
        if (region == NULL)
            continue;
        regions_add_call(region, call->start_ns, call->end_ns, visits[i].start_ns);
        region->iterations += count == visits[i].next; /* its last parallel region is done */
    }
    explicit_call(call->start_ns, call->end_ns);
    regions_end_change();
}

void loops_break(void)
{
    if (detector == NULL)
        return;
    regions_begin_change();
    while (visit_count > 0)
        close_visit(&visits[visit_count - 1]);
    explicit_break(run_time);
    regions_end_change();
    const struct dpd_options options = {.window = window};
    dpd_init(detector, &options);
    count = 0;
}

const void *loops_caller(void)
{
    return run_time;
}

uint64_t loops_calls(void)
{
    return __atomic_load_n(&total, __ATOMIC_RELAXED);
}

void loops_count_other(void)
{
    __atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
}

uint64_t loops_other_calls(void)
{
    return __atomic_load_n(&others, __ATOMIC_RELAXED);
}

void loops_forget(void)
{
    visit_count = 0;
    explicit_forget();
    count = total = others = 0;
    baseline_forget();
    if (detector != NULL) {
        const struct dpd_options options = {.window = window};
        dpd_init(detector, &options);
    }
}
