/* Thread safety: all state, and the `waits` of the threads' records, belong to the interval thread, under the
 * collector's lock; waits_begin runs when there is no such thread. */
#define _GNU_SOURCE
#include "waits.h"

#include "account.h"
#include "module_scan.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "wait_spans.h"
#include "wait_schedule.h"

static bool has_begun;
static struct unwind_cache cache;
static struct python_thread watched; /* of all blocked threads */
static struct wait_spans spans;
static uint32_t number_of(pid_t tid);
static struct blocked_process process = {
    .spans = &spans, .cache = &cache, .python = &watched, .thread_number = number_of};

/* Return 1 + the number of the application's thread with this id, or 0. */
static uint32_t number_of(pid_t tid)
{
    for (const struct thread *thread = thread_first(); tid > 0 && thread != NULL; thread = thread->next)
        if (__atomic_load_n(&thread->state, __ATOMIC_RELAXED) == THREAD_LIVE &&
            __atomic_load_n(&thread->tid, __ATOMIC_RELAXED) == tid)
            return __atomic_load_n(&thread->number, __ATOMIC_RELAXED) + 1;
    return 0;
}

void waits_begin(const struct config *config)
{
    wait_schedule_begin(config->format == FORMAT_STREAM ? config->waits_hz : 0, config->budget);
    wait_spans_begin(&spans);
    has_begun = false;
    watched.take = python_add_code;
    python_forget(&watched);
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        thread->waits = (struct thread_waits){0};
}

uint64_t waits_due_ns(void)
{
    return wait_schedule_due_ns();
}

static void *first_item(void)
{
    return thread_first();
}

static void *next_item(void *item)
{
    return ((struct thread *)item)->next;
}

static bool find_thread(void *item, struct blocked_thread *found)
{
    struct thread *thread = item;
    *found = (struct blocked_thread){
        .process = &process,
        .waits = &thread->waits,
        .number = __atomic_load_n(&thread->number, __ATOMIC_ACQUIRE),
        .start_ns = has_begun ? __atomic_load_n(&thread->start_ns, __ATOMIC_RELAXED) : 0,
        .stack_low = thread->stack_low,
        .stack_high = thread->stack_high,
    };
    found->tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
    return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_LIVE;
}

/* Take what has been used since then from the budget. */
static void charge(uint64_t used_ns)
{
    spans.consumed_ns += used_ns;
    account_charge(ACCOUNT_WAITS, used_ns);
}

static void take_turn(uint64_t now_ns, bool is_alone)
{
    static const struct wait_source source = {first_item, next_item, find_thread};
    if (!switch_is_sampling() || !modules_are_known()) {
        waits_exclude();
        wait_schedule_postpone(now_ns);
        return;
    }
    struct wait_round round = wait_schedule_take(&source, now_ns, account_thinning(ACCOUNT_WAITS), is_alone);
    charge(round.used_ns);
    spans.thinned += round.left_out;
    has_begun |= round.has_sampled;
    if (process.lacks_code)
        module_scan_request();
    process.lacks_code = false;
}

void waits_sample(struct interval *interval, bool is_alone)
{
    uint64_t now_ns = monotonic_ns();
    if (!wait_schedule_exist())
        return;
    process.interval = interval;
    if (now_ns >= wait_schedule_due_ns())
        take_turn(now_ns, is_alone);
    wait_schedule_sleep();
}

void waits_finish(struct interval *interval)
{
    struct blocked_thread found;
    if (!wait_schedule_exist() || !has_begun || switch_is_paused())
        return;
    uint64_t start_ns = wait_schedule_clock_ns();
    process.interval = interval;
    wait_spans_begin_round(monotonic_ns());
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        if (find_thread(thread, &found))
            wait_spans_sample(&found, false);
    charge(wait_schedule_pay(start_ns));
}

uint64_t waits_delayed_ns(void)
{
    return spans.delayed_ns;
}

void waits_put(struct interval *interval)
{
    if (!wait_schedule_exist())
        return;
    uint64_t start_ns = wait_schedule_clock_ns();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        wait_spans_close(&spans, interval, &thread->waits);
    wait_spans_put(&spans, interval);
    charge(wait_schedule_pay(start_ns)); /* counts for the next interval */
}

void waits_exclude(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        wait_spans_exclude(&thread->waits);
}

void waits_park(void)
{
    wait_schedule_park();
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        thread->waits.times_file = thread->waits.call_file = thread->waits.descriptors = 0;
}
