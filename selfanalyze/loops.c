/* Thread safety: the watched thread alone (calls.c), except `total` and `others`, which are atomic: the writing thread
 * reads both, and any other thread adds to the second. */
#define _GNU_SOURCE

#include <stddef.h>

#include "openmp.h"
#include "regions.h"
#include "stages.h"
#include "sys.h"

static struct call current;    /* the latest one, in a region or after it */
static uint64_t total, others; /* calls so far, of this thread and of others */
static uint64_t parallel_ns;   /* in all parallel regions of this thread */
static bool is_open;
static const void *run_time; /* an address in the program's code that last called the run-time */

bool loops_start(int window)
{
    return stages_start(window);
}

void loops_enter(const struct function *function, int threads, const void *caller)
{
    run_time = caller;
    current = (struct call){
        .call = loops_calls(),
        .start_ns = monotonic_ns(),
        .parallel_ns = parallel_ns,
        .epoch_before = current.epoch,
        .function = (uint16_t)function->id,
    };
    is_open = true;
    __atomic_store_n(&total, total + 1, __ATOMIC_RELAXED);
    regions_begin_change();
    stages_begin(&current, caller);
    if (threads == 0) /* read now, because the number may have been changed, or restored, meanwhile */
        threads = openmp_max_threads(caller);
    current.epoch = baseline_epoch();
    stages_note(current.epoch, threads);
    explicit_threads(threads);
    regions_end_change();
}

void loops_leave(void)
{
    if (!is_open)
        return;
    uint64_t end_ns = monotonic_ns();
    is_open = false;
    parallel_ns += end_ns - current.start_ns;
    regions_begin_change();
    stages_end(current.start_ns, end_ns);
    explicit_call(current.start_ns, end_ns);
    regions_end_change();
}

void loops_break(void)
{
    regions_begin_change();
    stages_break();
    explicit_break();
    regions_end_change();
    is_open = false;
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
    explicit_forget();
    total = others = 0;
    is_open = false;
    baseline_forget();
    members_forget();
    stages_forget();
}
