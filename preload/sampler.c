#define _GNU_SOURCE
#include "sampler.h"

#include <sys/auxv.h>

#include "collector.h"
#include "log.h"
#include "sys.h"

#define MOST_FRAMES 65536
#define ENTRY_BYTES 64 /* _start is no frame of anybody's program */

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

static uint64_t entry_point;
static struct sigaction application_action = {.sa_handler = SIG_DFL};

/* A frame of the application's: code of the executable or of a library that calls mcount, but no linkage stub. */
static bool is_application(const struct cursor *cursor)
{
    const struct code_range *range = cursor->range;
    if (range == NULL || !range->module->app || cursor->pc - entry_point < ENTRY_BYTES)
        return false;
    uint64_t address = unwind_lookup_pc(cursor) - range->base;
    return address < range->module->plt_low || address >= range->module->plt_high;
}

static enum sample_kind kind_of_leaf(const struct cursor *cursor)
{
    if (cursor->range == NULL)
        return KIND_UNKNOWN;
    if (cursor->range->module->profiler)
        return KIND_PROFILER;
    return is_application(cursor) ? KIND_OWN : KIND_LIBRARY;
}

static void take_sample(struct thread *thread, const ucontext_t *context, uint32_t weight, uint64_t now_ns)
{
    struct cursor cursor;
    struct sample sample = {.time_ns = now_ns, .weight = weight};
    size_t frames = 0;
    enum unwind_result result = UNWIND_CALLER;
    unwind_start(&cursor, modules_current(), context, thread->stack_low, thread->stack_high, thread->window);
    sample.leaf_pc = cursor.pc;
    sample.kind = (uint8_t)kind_of_leaf(&cursor);
    for (size_t depth = 0; depth < MOST_FRAMES && result == UNWIND_CALLER; depth++) {
        if (is_application(&cursor)) {
            uint64_t pc = unwind_lookup_pc(&cursor);
            if (frames < INNER_FRAMES)
                thread->inner[frames] = pc;
            else
                thread->outer[(frames - INNER_FRAMES) % OUTER_FRAMES] = pc;
            frames++;
        }
        result = unwind_step(&cursor);
    }
    if (result != UNWIND_END) {
        sample.flags |= SAMPLE_BROKEN;
        thread->counters.broken++;
        if (cursor.range == NULL)
            collector_request_scan();
    }
    if (frames == 0 && sample.kind != KIND_PROFILER)
        sample.kind = KIND_UNKNOWN;
    ring_put(thread, &sample, frames);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action = application_action;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return; /* the default action of this signal is to do nothing */
    if ((action.sa_flags & SA_RESETHAND) != 0)
        application_action.sa_handler = SIG_DFL;
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

/* Async-signal-safe: raw system calls and memory of the thread's own record. errno is not touched. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct thread *thread = incprof_tls.self;
    if (!ticker_is_ours(thread, info)) {
        pass_on(number, info, context);
        return;
    }
    if (thread == NULL)
        return;
    if (!collector_is_on()) {
        ticker_forget_thread(thread);
        return;
    }
    uint32_t weight = ticker_weight(thread, info);
    if (weight == 0 || !collector_is_sampling())
        return;
    uint64_t start_ns = monotonic_ns();
    take_sample(thread, context, weight, start_ns);
    thread->counters.handler_ns += monotonic_ns() - start_ns;
}

bool sampler_start(const struct config *config)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    ticker_begin(config);
    entry_point = getauxval(AT_ENTRY);
    sigfillset(&action.sa_mask);
    if (__sigaction(SAMPLER_SIGNAL, &action, &application_action) == 0)
        return true;
    log_warn("cannot install the sampling signal's handler, not recording", NULL);
    return false;
}

void sampler_exchange_action(const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before = application_action;
    if (action != NULL)
        application_action = *action;
    if (old != NULL)
        *old = before;
}

/* What became due after the last expiry that the kernel noticed: for a thread shorter than a kernel tick, all. */
static void account_for_rest(struct thread *thread)
{
    uint64_t due = ticker_overdue(thread);
    ticker_forget_thread(thread);
    if (due == 0 || !collector_is_sampling())
        return;
    uint64_t start = thread->start_pc;
    const struct code_range *range = modules_find(modules_current(), start);
    bool app = range != NULL && range->module->app;
    struct sample sample = {
        .time_ns = monotonic_ns(), .leaf_pc = start, .weight = (uint32_t)due, .kind = app ? KIND_OWN : KIND_UNKNOWN};
    thread->inner[0] = start;
    ring_put(thread, &sample, app ? 1 : 0);
    thread->delivered += due;
}

void sampler_end_thread(struct thread *thread)
{
    /* A signal that is still on its way must not write into the ring at the same time. */
    uint64_t all = ~(uint64_t)0;
    uint64_t old = 0;
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof all);
    account_for_rest(thread);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof old);
}
