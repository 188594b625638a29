/* Who may touch what: `ended` is atomic. thread.h says which field of a record is whose. */
#define _GNU_SOURCE
#include "thread_life.h"

#include <signal.h>

#include "requests.h"
#include "sampler.h"
#include "switch.h"
#include "sys.h"
#include "ticker.h"
#include "worker.h"

/* Records of threads that have ended are wanted back before there are many of them: each has touched some 40 KiB. */
#define ENDED_AT_A_TIME 64

static uint32_t ended;

void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc)
{
    thread->tid = (pid_t)SYS0(SYS_gettid);
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    thread->start_pc = start_pc;
    thread->start_ns = thread->counted_ns = sys_clock_ns(CLOCK_MONOTONIC);
    thread->state = THREAD_LIVE;
    thread_link(thread);
    incprof_tls.self = thread;
    thread_use_arcs(thread);
    ticker_start_thread(thread);
}

void thread_end(struct thread *thread)
{
    sampler_end_thread(thread);
    thread->exit_ns = monotonic_ns();
    __atomic_store_n(&thread->state, THREAD_EXITING, __ATOMIC_RELEASE);
    if (__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED) % ENDED_AT_A_TIME == 0)
        worker_nudge(REQUEST_DRAIN);
}

static bool is_gone(const struct thread *thread)
{
    return SYS3(SYS_tgkill, SYS0(SYS_getpid), thread->tid, 0) == -ESRCH;
}

static bool is_drained(const struct thread *thread)
{
    bool reported = thread->state != THREAD_EXITING || thread->counted_ns >= thread->exit_ns;
    return reported && __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE) == thread->tail;
}

void thread_reap(bool all, void (*take_calls)(struct thread *))
{
    struct thread *before = NULL;
    for (struct thread *thread = thread_first(); thread != NULL;) {
        struct thread *next = thread->next;
        bool ending = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_EXITING;
        if ((all || ending) && is_gone(thread) && is_drained(thread) && thread_unlink(before, thread)) {
            ticker_forget_thread(thread);
            take_calls(thread); /* the last ones come after our hook, from other destructors */
            thread_discard(thread);
        } else {
            before = thread;
        }
        thread = next;
    }
}

void thread_after_fork(void)
{
    struct thread *self = incprof_tls.self;
    thread_forget_others(self);
    if (self == NULL)
        return;
    arcs_forget(&self->table);
    self->counters = self->taken = (struct thread_counters){0};
    self->tail = self->head;
    self->timer = self->perf_fd = -1; /* timers are not inherited; events are the parent's interval thread's */
    self->wants_ticker = false;
    self->memory.count = 0;
    thread_start(self, self->stack_low, self->stack_high, self->start_pc);
}

void thread_stop_all(void)
{
    switch_set(SWITCH_OFF);
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        ticker_forget_thread(thread);
}
