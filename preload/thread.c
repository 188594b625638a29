#define _GNU_SOURCE
#include "thread.h"

#include <signal.h>
#include <string.h>

#include "arcs.h"
#include "sampler.h"
#include "sys.h"

/* Threads without a record find a free slot at once, and so take the slow path, which decides. */
static struct arc no_arcs[1];

__thread struct tls_block incprof_tls __attribute__((tls_model("initial-exec"))) = {.arcs = no_arcs};

static struct thread *threads; /* pushed by any thread, unlinked by the collector */
static struct thread *spare;   /* guarded by spare_lock */
static int spare_lock;
static uint32_t next_number;

static struct thread *take_spare(void)
{
    struct thread *thread = NULL;
    if (__atomic_exchange_n(&spare_lock, 1, __ATOMIC_ACQUIRE) != 0)
        return NULL; /* busy: new memory is cheaper than waiting, and safe in a signal handler */
    if (spare != NULL) {
        thread = spare;
        spare = thread->next;
    }
    __atomic_store_n(&spare_lock, 0, __ATOMIC_RELEASE);
    return thread;
}

static void release_tables(struct arc_table *table)
{
    while (table != NULL) {
        struct arc_table *older = table->older;
        sys_free(table, table->bytes);
        table = older;
    }
}

static void release(struct thread *thread)
{
    release_tables(thread->table);
    sys_free(thread, sizeof *thread);
}

void thread_discard(struct thread *thread)
{
    if (__atomic_exchange_n(&spare_lock, 1, __ATOMIC_ACQUIRE) != 0) {
        release(thread);
        return;
    }
    thread->next = spare;
    spare = thread;
    __atomic_store_n(&spare_lock, 0, __ATOMIC_RELEASE);
}

struct thread *thread_new(void)
{
    struct thread *thread = take_spare();
    if (thread == NULL) {
        thread = sys_alloc(sizeof *thread);
        if (thread == NULL)
            return NULL;
        thread->table = arcs_new_table(ARCS_FIRST_HOMES, NULL);
        if (thread->table == NULL || SYS3(SYS_mprotect, thread->guard, sizeof thread->guard, PROT_NONE) != 0) {
            release_tables(thread->table);
            sys_free(thread, sizeof *thread);
            return NULL;
        }
    }
    thread->state = THREAD_NEW;
    thread->exit_ns = 0;
    thread->timer = thread->perf_fd = -1;
    thread->delivered = 0;
    return thread;
}

static void push(struct thread *thread)
{
    thread->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads, &thread->next, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc)
{
    thread->tid = (pid_t)SYS0(SYS_gettid);
    thread->number = __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED);
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    thread->start_pc = start_pc;
    thread->start_ns = thread->counted_ns = sys_clock_ns(CLOCK_MONOTONIC);
    thread->state = THREAD_LIVE;
    push(thread);
    incprof_tls.self = thread;
    incprof_tls.mask = (thread->table->homes - 1) * sizeof(struct arc);
    incprof_tls.arcs = thread->table->arcs;
    ticker_start_thread(thread);
}

void thread_end(struct thread *thread)
{
    sampler_end_thread(thread);
    thread->exit_ns = monotonic_ns();
    __atomic_store_n(&thread->state, THREAD_EXITING, __ATOMIC_RELEASE);
}

struct thread *thread_first(void)
{
    return __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
}

static bool is_gone(const struct thread *thread)
{
    return SYS3(SYS_tgkill, SYS0(SYS_getpid), thread->tid, 0) == -ESRCH;
}

static bool is_drained(const struct thread *thread)
{
    bool reported = thread->state != THREAD_EXITING || thread->counted_ns >= thread->exit_ns;
    return reported && thread->head == thread->tail;
}

/* Unlinks `thread`, which follows `before` (NULL: it was first when we looked). */
static bool unlink_thread(struct thread *before, struct thread *thread)
{
    if (before == NULL) {
        struct thread *expected = thread;
        return __atomic_compare_exchange_n(&threads, &expected, thread->next, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
    before->next = thread->next;
    return true;
}

void thread_reap(bool all, void (*take_calls)(struct thread *))
{
    struct thread *before = NULL;
    for (struct thread *thread = thread_first(); thread != NULL;) {
        struct thread *next = thread->next;
        bool ending = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_EXITING;
        if ((all || ending) && is_gone(thread) && is_drained(thread) && unlink_thread(before, thread)) {
            if (!ending)
                ticker_forget_thread(thread); /* it ended without passing our hook */
            take_calls(thread);               /* the last ones come after our hook, from other destructors */
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
    for (struct thread *thread = threads; thread != NULL;) {
        struct thread *next = thread->next;
        if (thread->perf_fd >= 0)
            sys_close(thread->perf_fd);
        if (thread != self)
            release(thread);
        thread = next;
    }
    threads = NULL;
    spare_lock = 0;
    next_number = 0;
    if (self == NULL)
        return;
    arcs_forget(self);
    self->counters = self->taken = (struct thread_counters){0};
    self->tail = self->head;
    self->timer = self->perf_fd = -1;
    self->delivered = 0;
    thread_start(self, self->stack_low, self->stack_high, self->start_pc);
}

void thread_stop_all(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        ticker_forget_thread(thread);
}
