#define _GNU_SOURCE
#include "thread.h"

#include <signal.h>
#include <string.h>

#include "arcs.h"
#include "sampler.h"
#include "sys.h"
#include "ticker.h"

/* Threads without a record find a free slot at once, and so take the slow path, which decides. */
static struct arc no_arcs[1];

__thread struct tls_block incprof_tls __attribute__((tls_model("initial-exec"))) = {.arcs = no_arcs};

/* Records come in groups of one mapping, larger ones in programs with many threads: the kernel counts mappings. */
#define MOST_IN_GROUP 16
#define ARCS_BYTES (sizeof(struct arc_table) + ARCS_SLOTS(ARCS_FIRST_HOMES) * sizeof(struct arc))
#define RECORD_BYTES ((sizeof(struct thread) + ARCS_BYTES + 4095) / 4096 * 4096)

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

/* Its first table of arcs lies behind the record itself. */
static struct arc_table *first_table(struct thread *thread)
{
    return (struct arc_table *)(thread + 1);
}

static void release(struct thread *thread)
{
    for (struct arc_table *table = thread->table; table != first_table(thread);) {
        struct arc_table *older = table->older;
        sys_free(table, table->bytes);
        table = older;
    }
    sys_free(thread, RECORD_BYTES);
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

/* The first of some new ones; the others are spare. */
static struct thread *make_group(void)
{
    uint32_t so_far = __atomic_load_n(&next_number, __ATOMIC_RELAXED);
    size_t count = so_far < MOST_IN_GROUP ? so_far + 1 : MOST_IN_GROUP;
    uint8_t *group = sys_alloc_untouched(count * RECORD_BYTES);
    if (group == NULL) {
        count = 1;
        group = sys_alloc_untouched(RECORD_BYTES);
    }
    for (size_t i = count; group != NULL && i-- > 0;) {
        struct thread *thread = (struct thread *)(group + i * RECORD_BYTES);
        thread->table = first_table(thread);
        arcs_init_table(thread->table, ARCS_FIRST_HOMES);
        if (i > 0)
            thread_discard(thread);
    }
    return (struct thread *)group;
}

struct thread *thread_new(void)
{
    struct thread *thread = take_spare();
    if (thread == NULL && (thread = make_group()) == NULL)
        return NULL;
    thread->state = THREAD_NEW;
    thread->exit_ns = 0;
    thread->timer = thread->perf_fd = -1;
    thread->tick_signal = 0;
    thread->hidden_signal =
        incprof_tls.self != NULL ? incprof_tls.self->hidden_signal : 0; /* inherited, as a mask is */
    thread->wants_ticker = false;
    thread->memory.count = 0;
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
    for (struct thread *thread = threads; thread != NULL;) {
        struct thread *next = thread->next;
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
    self->timer = self->perf_fd = -1; /* timers are not inherited; events are the parent's interval thread's */
    self->wants_ticker = false;
    self->memory.count = 0;
    thread_start(self, self->stack_low, self->stack_high, self->start_pc);
}

void thread_stop_all(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        ticker_forget_thread(thread);
}
