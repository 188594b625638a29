/* Who may touch what: `threads` is pushed to by any thread (compare and swap), and unlinked from by the collector
 * alone, which therefore walks it without a lock. `spare` is guarded by spare_lock, which is only tried: whoever finds
 * it taken does without, so that it can be needed in a handler. `next_number` is atomic. incprof_tls is each thread's
 * own. thread.h says which field of a record is whose. */
#define _GNU_SOURCE
#include "thread.h"

#include "sys.h"

/* Threads without a record find a free slot at once, and so take the slow path, which decides. */
static struct arc no_arcs[1];

__thread struct tls_block incprof_tls __attribute__((tls_model("initial-exec"))) = {.arcs = no_arcs};

/* Records come in groups of one mapping, larger ones in programs with many threads: the kernel counts mappings. */
#define MOST_IN_GROUP 16
#define ARCS_BYTES (sizeof(struct arc_table) + ARCS_SLOTS(ARCS_FIRST_HOMES) * sizeof(struct arc))
#define RECORD_BYTES ((sizeof(struct thread) + ARCS_BYTES + MACHINE_PAGE - 1) / MACHINE_PAGE * MACHINE_PAGE)

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
    arcs_free(thread->table);
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

void thread_link(struct thread *thread)
{
    thread->number = __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED);
    thread->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads, &thread->next, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

struct thread *thread_first(void)
{
    return __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
}

bool thread_unlink(struct thread *before, struct thread *thread)
{
    if (before == NULL) {
        struct thread *expected = thread;
        return __atomic_compare_exchange_n(&threads, &expected, thread->next, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
    before->next = thread->next;
    return true;
}

void thread_forget_others(struct thread *mine)
{
    for (struct thread *thread = threads; thread != NULL;) {
        struct thread *next = thread->next;
        if (thread != mine)
            release(thread);
        thread = next;
    }
    threads = NULL;
    spare_lock = 0;
    next_number = 0;
}

void thread_use_arcs(const struct thread *thread)
{
    incprof_tls.mask = (thread->table->homes - 1) * sizeof(struct arc);
    incprof_tls.arcs = thread->table->arcs;
}
