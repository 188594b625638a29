/* Thread safety: the watched thread alone (calls.c). The settings are written before main. */
#include "regions.h"

#include <stddef.h>

#include "openmp.h"

#define MOST_TRIES 3

/* USUAL -> ENTERING -> FEWER -> LEAVING -> USUAL, one step at the begin of an iteration. */
enum step { USUAL, ENTERING, FEWER, LEAVING };

static int baseline_threads, wanted_iterations;
static enum step step;
static const struct region *target;
static int threads_before;
static struct openmp_threads threads; /* of the run-time whose number was changed */
static uint32_t epoch;
static enum epoch_kind kind;
/* Kinds of the latest epochs: iterations may be accounted after their epoch's end. */
static enum epoch_kind kinds[16];

static void next(enum step to, enum epoch_kind now)
{
    step = to;
    kind = now;
    kinds[++epoch % 16] = now;
}

void baseline_configure(int fewer, int iterations)
{
    baseline_threads = fewer;
    wanted_iterations = iterations;
}

uint32_t baseline_epoch(void)
{
    return epoch;
}

bool baseline_is_usual(void)
{
    return kind == EPOCH_USUAL;
}

void baseline_account(struct region *region, uint32_t of, uint64_t ns)
{
    if (epoch - of >= 16)
        return;
    if (kinds[of % 16] == EPOCH_USUAL)
        times_add(&region->times, ns);
    else if (kinds[of % 16] == EPOCH_FEWER)
        times_add(&region->fewer, ns);
}

static void restore(void)
{
    /* The program may have set its own number meanwhile. */
    if (threads.get() == baseline_threads)
        threads.set(threads_before);
}

static void try_to_begin(struct region *region, const void *caller)
{
    if (baseline_threads == 0 || region->fewer.count > 0 || region->tries == MOST_TRIES ||
        region->times.count < (uint64_t)wanted_iterations)
        return;
    threads = openmp_hold_threads(caller);
    threads_before = threads.get != NULL ? threads.get() : 0;
    if (threads_before <= baseline_threads)
        return;
    threads.set(baseline_threads);
    region->tries++;
    target = region;
    next(ENTERING, EPOCH_SETTLING);
}

void baseline_boundary(struct region *region, bool outermost, const void *caller)
{
    if (step == USUAL) {
        if (outermost)
            try_to_begin(region, caller);
        return;
    }
    if (region != target)
        return;
    if (step == ENTERING) {
        next(FEWER, EPOCH_FEWER);
    } else if (step == FEWER && region->fewer.count >= (uint64_t)wanted_iterations) {
        restore();
        next(LEAVING, EPOCH_SETTLING);
    } else if (step == LEAVING) {
        next(USUAL, EPOCH_USUAL);
    }
}

void baseline_end(const struct region *region)
{
    if (step == USUAL || region != target)
        return;
    if (step != LEAVING)
        restore();
    next(USUAL, EPOCH_USUAL);
}

void baseline_forget(void)
{
    step = USUAL;
    target = NULL;
    next(USUAL, EPOCH_USUAL);
}
