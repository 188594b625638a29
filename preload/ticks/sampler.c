#define _GNU_SOURCE
#include "sampler.h"

#include <pthread.h>
#include <sys/auxv.h>

#include "account.h"
#include "log.h"
#include "module_scan.h"
#include "own_signal.h"
#include "python.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "ticker.h"
#include "vfork.h"

/* The handler may use the recording's share of the thread's CPU time, in billionths of a percent: 2 %, or
 * INCPROF_OVERHEAD. It accumulates up to one millisecond of credit and uses up to 50 us (SAMPLER_LONGEST_NS) at a time:
 * a longer walk is cut (path.h), and ticks without credit are added to the next sample. It is charged by the thread's
 * CPU clock, whatever the time was used for. Written before the first thread. */
static uint64_t share;
/* What the kernel takes for a signal besides: the expiry of its timer, its frame, the return from the handler. */
#define SIGNAL_NS 5000

static enum sample_kind kind_of_leaf(const struct cursor *cursor)
{
    if (cursor->range == NULL)
        return KIND_UNKNOWN;
    if (cursor->range->module->profiler)
        return KIND_PROFILER;
    return path_is_application(cursor) ? KIND_OWN : KIND_LIBRARY;
}

/* Set the home of a path without application frames: a thread that a library started for itself belongs to that
 * library. */
static void set_home(struct sample *sample, const struct path *path, bool was_started)
{
    sample->kind = was_started && path->home != 0 ? KIND_LIBRARY : KIND_UNKNOWN;
    sample->leaf_pc = path->home;
}

void sampler_walk(struct thread *thread, struct cursor *cursor, uint64_t deadline_ns)
{
    const struct python *python = python_current();
    struct python_walk frames;
    const struct python_stack stack = {.low = cursor->sp,
                                       .high = cursor->sp >= thread->stack_low ? thread->stack_high : 0,
                                       .bytes = (const uint8_t *)cursor->sp,
                                       .self = (uint64_t)pthread_self()};
    if (python != NULL)
        python_begin(&frames, python, &thread->python, &stack);
    path_walk(&thread->path, &thread->memory, cursor, python != NULL ? &frames : NULL, deadline_ns);
}

static void take_sample(struct thread *thread, const struct code_map *map, const ucontext_t *context, uint64_t weight,
                        uint64_t now_ns)
{
    struct cursor cursor;
    struct path *path = &thread->path;
    struct sample sample = {.time_ns = now_ns, .weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX};
    unwind_start(&cursor, map, context, thread->stack_low, thread->stack_high, thread->window, &thread->cache);
    sample.leaf_pc = cursor.pc;
    sample.kind = (uint8_t)kind_of_leaf(&cursor);
    bool is_unknown = cursor.range == NULL; /* although a search may find its caller */
    sampler_walk(thread, &cursor, now_ns + SAMPLER_LONGEST_NS);
    if (path->result != UNWIND_END) {
        sample.flags |= SAMPLE_BROKEN;
        if (weight > 0)
            thread_add(&thread->counters.broken, 1);
    }
    if (is_unknown || ((path->result == UNWIND_BROKEN || path->has_gap) && cursor.range == NULL))
        module_scan_request();
    if (path->frames == 0 && sample.kind != KIND_PROFILER)
        set_home(&sample, path, thread->start_pc != 0);
    ring_put(thread, &sample);
}

/* Draw whether the tick is one of those that the budget permits (account.h). */
static bool is_drawn(uint64_t ticks)
{
    return ticker_random_below(account_thinning(ACCOUNT_TICKS)) < ticks * ACCOUNT_ALL;
}

/* Return whether the handler may walk the stack at this tick. */
static bool may_walk(struct thread *thread, uint64_t ticks)
{
    uint64_t earned = ticks * (thread->period_ns / 1000 * (share / 1000) / 100000);
    int64_t credit = thread->credit_ns + (int64_t)(earned < FULL_CREDIT_NS ? earned : FULL_CREDIT_NS);
    thread->credit_ns = credit < FULL_CREDIT_NS ? credit : FULL_CREDIT_NS;
    return credit > 0 && (account_thinning(ACCOUNT_TICKS) <= ACCOUNT_ALL || is_drawn(ticks));
}

static uint64_t thread_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The first sample of a process brings code and tables into memory. It counts as overhead but is not charged: otherwise
 * the ticks skipped for it would all be those of the program's first function. */
static void take_charged_sample(struct thread *thread, const ucontext_t *context, uint64_t weight)
{
    static bool has_sampled;
    bool is_first = !__atomic_exchange_n(&has_sampled, true, __ATOMIC_RELAXED);
    uint64_t start_ns = thread_cpu_ns();
    const struct code_map *map = modules_enter();
    take_sample(thread, map, context, weight, monotonic_ns());
    modules_leave(map);
    uint64_t spent_ns = thread_cpu_ns() - start_ns;
    thread->credit_ns -= is_first ? 0 : (int64_t)spent_ns;
    thread_add(&thread->counters.handler_ns, spent_ns);
    if (!is_first)
        account_charge(ACCOUNT_TICKS, spent_ns);
}

/* In a process of a job, the first tick makes the interval thread scan for code; few of a job's processes ever get that
 * far. */
static void on_tick(struct thread *thread, uint64_t ticks, const ucontext_t *context)
{
    thread->held += ticks;
    if (!modules_are_known()) {
        module_scan_request();
        return;
    }
    if (!may_walk(thread, ticks)) {
        thread_add(&thread->counters.skipped, 1);
        return;
    }
    uint64_t missed = thread->start_pc != 0 ? missed_ticks_take(thread->start_pc) : 0;
    take_charged_sample(thread, context, thread->held + missed);
    thread->held = 0;
}

static void sample_thread(struct thread *thread, const ucontext_t *context)
{
    if (thread->credit_ns > 0 && account_thinning(ACCOUNT_TICKS) <= ACCOUNT_ALL)
        take_charged_sample(thread, context, 0);
}

/* Async-signal-safe: raw system calls and memory of the thread's own record. errno is not touched. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct thread *thread = incprof_tls.self;
    bool is_dense_sample = dense_window_has_signal(thread, info);
    if (!is_dense_sample && !ticker_is_ours(thread, info)) {
        int none = 0;
        own_signal_pass_on(thread != NULL ? &thread->hidden_signal : &none, number, info, context);
        if (thread != NULL && number != own_signal() && number == thread->tick_signal && !vfork_is_child())
            ticker_move(thread, false);
        return;
    }
    if (thread == NULL || thread->state != THREAD_LIVE)
        return;
    if (!switch_is_on()) {
        ticker_forget_thread(thread);
        return;
    }
    account_charge_rest(SIGNAL_NS);
    if (is_dense_sample) {
        if (number == own_signal() && switch_is_sampling())
            sample_thread(thread, context);
        return;
    }
    uint64_t ticks = ticker_weight(thread, info);
    if (number != own_signal()) { /* with the application's mask in force, another tick could arrive in between */
        thread->held += ticks;
        ticker_move(thread, false);
    } else if (ticks > 0 && switch_is_sampling()) {
        on_tick(thread, ticks, context);
    }
}

bool sampler_start(const struct config *config)
{
    sigset_t ticks;
    share = config->budget;
    path_begin(getauxval(AT_ENTRY));
    sigemptyset(&ticks);
    sigaddset(&ticks, SIGURG);
    sigaddset(&ticks, SIGWINCH);
    signal_stacks_begin(&ticks);
    if (own_signal_begin(on_signal))
        return true;
    log_warn("cannot install the sampling signal's handler, not recording", NULL);
    return false;
}

/* Return the ticks due after the last expiry that the kernel detected, as far as they count for the thread itself. */
static uint64_t take_remaining_ticks(struct thread *thread)
{
    int64_t overdue = ticker_overdue(thread);
    int64_t due = overdue + (int64_t)thread->held;
    ticker_forget_thread(thread);
    thread->delivered += (uint64_t)overdue;
    thread->held = 0;
    if (!switch_is_sampling())
        return 0;
    if (thread->start_pc != 0)
        return missed_ticks_leave(thread->start_pc, due);
    return due > 0 ? (uint64_t)due : 0;
}

static void account_remaining_ticks(struct thread *thread)
{
    uint64_t due = take_remaining_ticks(thread);
    if (due == 0)
        return;
    uint64_t start = thread->start_pc;
    const struct code_map *map = modules_enter();
    const struct code_range *range = modules_find(map, start);
    bool app = range != NULL && range->module->app;
    enum sample_kind outside = range != NULL && !range->module->begins ? KIND_LIBRARY : KIND_UNKNOWN;
    modules_leave(map);
    struct sample sample = {
        .time_ns = monotonic_ns(), .leaf_pc = start, .weight = (uint32_t)due, .kind = app ? KIND_OWN : outside};
    thread->path.frames = app ? 1 : 0;
    thread->path.inner[0] = start;
    ring_put(thread, &sample);
}

void sampler_end_thread(struct thread *thread)
{
    /* A signal still in flight must not write into the ring at the same time. */
    uint64_t mask = sys_block_signals();
    account_remaining_ticks(thread);
    sys_set_signal_mask(mask);
}
