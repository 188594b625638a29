/* Thread safety: thread.h gives the owner of each field of a record. When a record is reused, its tid is written before
 * its number, and its number and start time before its state. A reader that reads them in the opposite order never
 * mixes two threads. */
#define _GNU_SOURCE
#include "thread_life.h"

#include <signal.h>

#include "sampler.h"
#include "switch.h"
#include "sys.h"
#include "ticker.h"

static int state_of(const struct thread *thread)
{
    return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
}

static uint32_t number_of(const struct thread *thread)
{
    return __atomic_load_n(&thread->number, __ATOMIC_ACQUIRE);
}

void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc)
{
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    thread->start_pc = start_pc;
    thread_sign(thread);
    __atomic_store_n(&thread->start_ns, sys_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->state, THREAD_LIVE, __ATOMIC_RELEASE);
    incprof_tls.self = thread;
    thread_use_arcs(thread);
    ticker_start_thread(thread);
}

/* After this call the record may be reused for another thread. */
static void end_life(struct thread *thread)
{
    uint64_t now_ns = monotonic_ns();
    thread_add(&thread->lived_ns, now_ns > thread->start_ns ? now_ns - thread->start_ns : 0);
    thread_release(thread);
}

void thread_end(struct thread *thread)
{
    sampler_end_thread(thread);
    end_life(thread);
}

uint64_t thread_life_ns(struct thread *thread, uint64_t now_ns)
{
    uint64_t all_ns = __atomic_load_n(&thread->lived_ns, __ATOMIC_RELAXED);
    if (state_of(thread) == THREAD_LIVE) {
        uint64_t start_ns = __atomic_load_n(&thread->start_ns, __ATOMIC_RELAXED);
        all_ns += now_ns > start_ns ? now_ns - start_ns : 0;
    }
    uint64_t more_ns = all_ns > thread->counted_ns ? all_ns - thread->counted_ns : 0;
    thread->counted_ns += more_ns;
    return more_ns;
}

uint64_t thread_life_exclude(uint64_t from_ns, uint64_t duration_ns)
{
    uint64_t all_ns = 0;
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        uint64_t start_ns = __atomic_load_n(&thread->start_ns, __ATOMIC_RELAXED);
        if (state_of(thread) != THREAD_LIVE || start_ns > from_ns)
            continue;
        __atomic_store_n(&thread->start_ns, start_ns + duration_ns, __ATOMIC_RELAXED);
        thread->counted_ns -= duration_ns;
        all_ns += duration_ns;
    }
    return all_ns;
}

/* Find threads that ended by a bare system call, without our hook. */
static void detect_exit(struct thread *thread)
{
    uint32_t number = number_of(thread);
    bool live = state_of(thread) == THREAD_LIVE && !thread_has_exited(__atomic_load_n(&thread->tid, __ATOMIC_RELAXED));
    if (live || state_of(thread) != THREAD_LIVE || number_of(thread) != number)
        return;
    ticker_forget_thread(thread);
    end_life(thread);
}

bool thread_is_settled(const struct thread *thread)
{
    uint64_t number = number_of(thread);
    return state_of(thread) == THREAD_ENDED && thread->settled == number + 1;
}

void thread_settle(void (*take)(struct thread *))
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        detect_exit(thread);
        if (thread_is_settled(thread) || state_of(thread) != THREAD_ENDED)
            continue;
        uint64_t number = number_of(thread);
        if (!thread_has_exited(__atomic_load_n(&thread->tid, __ATOMIC_RELAXED)))
            continue;
        take(thread);
        ticker_close_event(thread);
        thread->settled = number + 1;
    }
}

/* Discard the record's content, which is the parent's. */
static void discard_content(struct thread *thread)
{
    arcs_forget(&thread->table);
    thread->taken = thread->counters;
    thread->counted_ns = thread->lived_ns;
    thread->settled = 0;
    thread->tail = thread->head;
    python_forget(&thread->python);
}

void thread_after_fork(void)
{
    struct thread *self = incprof_tls.self;
    thread_forget_others(self);
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        discard_content(thread);
    if (self == NULL)
        return;
    self->timer = self->perf_fd = self->dense_fd =
        -1; /* timers are not inherited; events belong to the parent's interval thread */
    self->wants_ticker = false;
    self->memory.count = 0;
    self->python.state = 0;
    thread_start(self, self->stack_low, self->stack_high, self->start_pc);
}

void thread_stop_all(void)
{
    switch_set(SWITCH_OFF);
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        ticker_forget_thread(thread);
}
