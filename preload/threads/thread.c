/* Thread safety: any thread pushes to `records` and `ended` (compare and swap). Nothing is removed from `records`, so
 * it is walked without a lock; `ended` is taken as a whole. `queue` is guarded by queue_lock, for which a thread spins
 * a limited number of iterations and then continues without, so that a handler can take it. `next_number` and `made`
 * are atomic. incprof_tls is each thread's own. thread.h gives the owner of each field of a record. */
#define _GNU_SOURCE
#include "thread.h"

#include "sys.h"

/* Threads without a record find a free slot at once, and so take the slow path. */
static struct arc no_arcs[1];

__thread struct tls_block incprof_tls __attribute__((tls_model("initial-exec"))) = {.arcs = no_arcs};

/* Records come in groups of one mapping, larger ones in programs with many threads: the kernel counts mappings. */
#define MOST_IN_GROUP 16
#define ARCS_BYTES (sizeof(struct arc_table) + ARCS_SLOTS(ARCS_FIRST_HOMES) * sizeof(struct arc))
#define RECORD_BYTES ((sizeof(struct thread) + ARCS_BYTES + MACHINE_PAGE - 1) / MACHINE_PAGE * MACHINE_PAGE)

/* Number of unused records to try for one that can be reused. */
#define MOST_ATTEMPTS 4
#define PATIENCE 1000 /* spin iterations: a running holder keeps the lock for less */

static struct thread *records;
static struct thread *ended; /* newest first */
static struct thread *queue; /* taken from `ended`, oldest first */
static int queue_lock;
static uint32_t next_number, made;

static bool acquire_lock(void)
{
    for (int turn = 0; turn < PATIENCE; turn++)
        if (__atomic_load_n(&queue_lock, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(&queue_lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
    return false;
}

static void release_lock(void)
{
    __atomic_store_n(&queue_lock, 0, __ATOMIC_RELEASE);
}

static void push_ended(struct thread *thread)
{
    thread->next_ended = __atomic_load_n(&ended, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ended, &thread->next_ended, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static struct thread *pop_oldest(void)
{
    struct thread *thread = queue == NULL ? __atomic_exchange_n(&ended, NULL, __ATOMIC_ACQUIRE) : NULL;
    while (thread != NULL) {
        struct thread *older = thread->next_ended;
        thread->next_ended = queue;
        queue = thread;
        thread = older;
    }
    thread = queue;
    if (thread != NULL)
        queue = thread->next_ended;
    return thread;
}

bool thread_has_exited(pid_t tid)
{
    return tid == 0 || SYS3(SYS_tgkill, SYS0(SYS_getpid), tid, 0) == -ESRCH;
}

/* Return whether the record can be reused: its thread has ended, and its ring has room besides the samples not yet
 * taken. */
static bool is_usable(const struct thread *thread)
{
    uint64_t waiting = thread->head - __atomic_load_n(&thread->tail, __ATOMIC_ACQUIRE);
    return waiting <= RING_WORDS / 2 && thread_has_exited(thread->tid);
}

static struct thread *take_ended(void)
{
    struct thread *thread = NULL;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        thread = pop_oldest();
        if (thread == NULL || is_usable(thread))
            return thread;
        push_ended(thread);
    }
    return NULL;
}

/* Return the record's first table of arcs, which lies behind it. */
static struct arc_table *first_table(struct thread *thread)
{
    return (struct arc_table *)(thread + 1);
}

static void release(struct thread *thread)
{
    arcs_free(thread->table);
    sys_free(thread, RECORD_BYTES);
}

static void set_up(struct thread *thread)
{
    thread->table = first_table(thread);
    arcs_init_table(thread->table, ARCS_FIRST_HOMES);
    thread->timer = thread->perf_fd = thread->dense_fd = -1;
    thread->next = __atomic_load_n(&records, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&records, &thread->next, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

/* Create a group of zeroed records; return the first, and add the others to the unused ones. */
static struct thread *make_group(size_t count)
{
    uint8_t *group = sys_alloc_untouched(count * RECORD_BYTES);
    if (group == NULL)
        return count > 1 ? make_group(1) : NULL;
    __atomic_fetch_add(&made, (uint32_t)count, __ATOMIC_RELAXED);
    for (size_t i = count; i-- > 0;) {
        struct thread *thread = (struct thread *)(group + i * RECORD_BYTES);
        set_up(thread);
        if (i > 0)
            push_ended(thread);
    }
    return (struct thread *)group;
}

struct thread *thread_new(void)
{
    size_t count = 1; /* another thread is searching, and may create many */
    struct thread *thread = NULL;
    if (acquire_lock()) {
        uint32_t so_far = __atomic_load_n(&made, __ATOMIC_RELAXED);
        thread = take_ended();
        release_lock();
        count = so_far < MOST_IN_GROUP ? so_far + 1 : MOST_IN_GROUP;
    }
    if (thread == NULL && (thread = make_group(count)) == NULL)
        return NULL;
    __atomic_store_n(&thread->state, THREAD_NEW, __ATOMIC_RELAXED);
    thread->tick_signal = 0;
    thread->hidden_signal =
        incprof_tls.self != NULL ? incprof_tls.self->hidden_signal : 0; /* inherited, as a mask is */
    thread->memory.count = 0;
    thread->python.state = 0;
    return thread;
}

void thread_release(struct thread *thread)
{
    if (thread->state == THREAD_NEW)
        __atomic_store_n(&thread->tid, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->state, THREAD_ENDED, __ATOMIC_RELEASE);
    push_ended(thread);
}

void thread_sign(struct thread *thread)
{
    __atomic_store_n(&thread->tid, (pid_t)SYS0(SYS_gettid), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->number, __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

uint32_t thread_count(void)
{
    return __atomic_load_n(&next_number, __ATOMIC_RELAXED);
}

struct thread *thread_first(void)
{
    return __atomic_load_n(&records, __ATOMIC_ACQUIRE);
}

/* Return whether the record is of a thread of the forked child: sanitizers create one before our fork hook. */
static bool is_of_child(const struct thread *thread)
{
    return thread->state == THREAD_NEW || (thread->state == THREAD_LIVE && !thread_has_exited(thread->tid));
}

void thread_forget_others(const struct thread *mine)
{
    struct thread *remaining = NULL;
    uint32_t count = 0;
    uint32_t highest = 0;
    for (struct thread *thread = records, *next; thread != NULL; thread = next) {
        next = thread->next;
        if (thread != mine && !is_of_child(thread)) {
            release(thread);
            continue;
        }
        thread->next = remaining;
        remaining = thread;
        count++;
        if (thread != mine && thread->number >= highest)
            highest = thread->number + 1;
    }
    records = remaining;
    ended = queue = NULL;
    queue_lock = 0;
    next_number = highest;
    made = count;
}

void thread_use_arcs(const struct thread *thread)
{
    incprof_tls.mask = (thread->table->homes - 1) * sizeof(struct arc);
    incprof_tls.arcs = thread->table->arcs;
}
