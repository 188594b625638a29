/* Thread safety: a record belongs to the thread that `io_self` points from; the interval thread reads its counts.
 * Handlers that interrupt the thread count, too: each addition is one instruction, or atomic, and a slot is claimed
 * atomically. Records stay in the list for good; that of a thread that has ended is used again, counts and all. `taken`
 * belongs to the interval thread. */
#define _GNU_SOURCE
#include "counts.h"

#include <pthread.h>

#include "descriptors.h"
#include "sys.h"

#define TIMED_NS 50000
#define MOST_MEAN 256u
#define FULL (SLOTS - SLOTS / 4)
#define PROBES 16
#define VALUES 5 /* of a count */

__thread struct io_thread *io_self;
bool io_is_on;
static struct io_thread *records;
static pthread_key_t key;
static bool has_key;

/* Add to a count of the calling thread. */
static inline void add(uint64_t *count, uint64_t more)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*count) : "er"(more) : "cc");
#else
    __atomic_fetch_add(count, more, __ATOMIC_RELAXED);
#endif
}

static void end_thread(void *record)
{
    struct io_thread *thread = record;
    io_self = NULL;
    __atomic_store_n(&thread->is_used, 0, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

static struct io_thread *free_record(void)
{
    for (struct io_thread *thread = __atomic_load_n(&records, __ATOMIC_ACQUIRE); thread != NULL;
         thread = thread->next) {
        uint32_t unused = 0;
        if (__atomic_compare_exchange_n(&thread->is_used, &unused, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return thread;
    }
    return NULL;
}

static struct io_thread *new_record(void)
{
    struct io_thread *thread = sys_alloc_untouched(sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->is_used = 1;
    thread->next = __atomic_load_n(&records, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&records, &thread->next, thread, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return thread;
}

struct io_thread *io_thread_start(void)
{
    int kept = errno;
    struct io_thread *thread = free_record();
    if (thread == NULL)
        thread = new_record();
    if (thread != NULL) {
        uint64_t now_ns = monotonic_ns();
        thread->random = now_ns | 1;
        thread->mpi_depth = 0;
        for (int i = 0; i < OPERATIONS * SIZES; i++)
            thread->timing[i / SIZES][i % SIZES] = (struct io_timing){1, 1, 1, now_ns, now_ns};
        io_self = thread;
        if (has_key)
            pthread_setspecific(key, thread);
    }
    errno = kept;
    return thread;
}

/* xorshift64*, Vigna 2016. */
static uint32_t draw(struct io_thread *thread)
{
    uint64_t x = thread->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    thread->random = x;
    return (uint32_t)((x * 2685821657736338717u) >> 32);
}

void io_start_timing(struct io_call *call, enum operation operation)
{
    struct io_timing *timing = &call->thread->timing[operation][call->size];
    call->start_ns = monotonic_ns();
    call->weight = timing->mean;
    uint64_t gap_ns = (call->start_ns - timing->last_ns) / timing->drawn;
    uint64_t mean = TIMED_NS / (gap_ns > 0 ? gap_ns : 1);
    /* One short gap is no proof of frequent calls: the mean only doubles at a time. */
    uint64_t most = timing->mean < MOST_MEAN / 2 ? 2 * timing->mean : MOST_MEAN;
    timing->mean = mean < 1 ? 1 : mean > most ? (uint32_t)most : (uint32_t)mean;
    timing->left = timing->drawn = 1 + draw(call->thread) % (2 * timing->mean - 1);
    timing->last_ns = call->start_ns;
}

static struct io_count *find_slot(struct io_thread *thread, uint64_t wanted, enum operation operation)
{
    /* Files have consecutive numbers: those that a thread uses together share pages. */
    uint64_t home = ((wanted - 1) >> 8) * OPERATIONS + operation;
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        struct io_count *slot = &thread->slots[(home + probe) % SLOTS];
        uint64_t there = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
        if (there == wanted)
            return slot;
        if (there != 0)
            continue;
        if (__atomic_load_n(&thread->filled, __ATOMIC_RELAXED) >= FULL)
            break;
        if (__atomic_compare_exchange_n(&slot->key, &there, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            uint32_t place = __atomic_fetch_add(&thread->filled, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&thread->used[place], (uint16_t)(slot - thread->slots + 1), __ATOMIC_RELEASE);
            return slot;
        }
        if (there == wanted)
            return slot;
    }
    return &thread->other[operation];
}

static inline struct io_count *slot_of(struct io_thread *thread, uint32_t file, enum operation operation)
{
    uint64_t wanted = 1 + ((uint64_t)file << 8) + operation;
    struct io_count *latest = thread->latest[operation];
    if (latest != NULL && latest->key == wanted)
        return latest;
    if (file == FILE_OTHER)
        return &thread->other[operation];
    latest = find_slot(thread, wanted, operation);
    __atomic_store_n(&thread->latest[operation], latest, __ATOMIC_RELAXED);
    return latest;
}

/* Only a call that was timed is recorded with its path, about one in `gap_ns`: the probability is the part of that
 * which has passed since the thread's last one of this operation and size. */
static void record_path(const struct io_call *call, enum operation operation, uint32_t file, uint64_t bytes,
                        uint64_t end_ns)
{
    struct io_thread *thread = call->thread;
    struct io_timing *timing = &thread->timing[operation][call->size];
    uint64_t gap_ns = paths_gap_ns(), since_ns = end_ns - timing->last_path_ns;
    timing->last_path_ns = end_ns;
    uint64_t scaled = since_ns < gap_ns ? since_ns : gap_ns;
    if (draw(thread) * gap_ns >> 32 >= scaled)
        return;
    path_record(&(struct path_event){
        .file = file,
        .operation = operation,
        .calls_milli = 1000u * (uint64_t)call->weight * gap_ns / (scaled > 0 ? scaled : 1),
        .bytes = bytes,
        .ns = end_ns - call->start_ns,
    });
}

void io_end(const struct io_call *call, enum operation operation, uint32_t file, int64_t result)
{
    if (call->thread == NULL)
        return;
    struct io_count *count = slot_of(call->thread, file, operation);
    uint64_t bytes = result > 0 ? (uint64_t)result : 0;
    add(&count->calls, 1);
    if (bytes > 0)
        add(&count->bytes, bytes);
    if (call->thread->mpi_depth > 0 && operation <= OP_WRITE)
        call->thread->mpi_bytes += bytes;
    bool is_direct = operation < OP_OPEN && operation != OP_STREAM_READ && operation != OP_STREAM_WRITE;
    if (is_direct && bytes < SMALL_BYTES && result >= 0)
        add(&count->small, 1);
    if (result < 0)
        add(&count->failed, 1);
    if (call->start_ns == 0)
        return;
    int kept = errno;
    uint64_t end_ns = monotonic_ns();
    add(&count->ns, (end_ns - call->start_ns) * call->weight);
    if (operation != OP_MPI_IO) /* whose calls have paths of their own */
        record_path(call, operation, file, bytes, end_ns);
    errno = kept;
}

/* Return what the counts have grown by since the last time. */
static bool take_count(const struct io_count *now, struct io_count *taken, uint64_t more[VALUES])
{
    const uint64_t *value = &now->calls;
    uint64_t *before = &taken->calls;
    uint64_t any = 0;
    for (int i = 0; i < VALUES; i++) {
        uint64_t all = __atomic_load_n(&value[i], __ATOMIC_RELAXED);
        more[i] = all - before[i];
        before[i] = all;
        any |= more[i];
    }
    return any != 0;
}

/* Call `use` with each count of a thread that has grown, its file and its operation. */
static void take_thread(struct io_thread *thread, struct buffer *out,
                        void (*use)(struct buffer *out, uint64_t which, const uint64_t more[VALUES]))
{
    uint64_t more[VALUES];
    for (uint64_t i = 0; i < OPERATIONS; i++)
        if (take_count(&thread->other[i], &thread->taken[i], more))
            use(out, ((uint64_t)FILE_OTHER << 8) + i, more);
    uint32_t filled = __atomic_load_n(&thread->filled, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < filled; i++) {
        uint16_t slot = __atomic_load_n(&thread->used[i], __ATOMIC_ACQUIRE);
        if (slot > 0 && take_count(&thread->slots[slot - 1], &thread->taken[OPERATIONS + slot - 1], more))
            use(out, thread->slots[slot - 1].key - 1, more);
    }
}

static void put(struct buffer *out, uint64_t which, const uint64_t more[VALUES])
{
    buffer_varint(out, which >> 8);
    buffer_varint(out, which & 255);
    for (int i = 0; i < VALUES; i++)
        buffer_varint(out, more[i]);
}

static void forget(struct buffer *out, uint64_t which, const uint64_t more[VALUES])
{
    (void)out, (void)which, (void)more;
}

void io_put_counts(struct buffer *out)
{
    struct buffer record = {0};
    for (struct io_thread *thread = __atomic_load_n(&records, __ATOMIC_ACQUIRE); thread != NULL; thread = thread->next)
        take_thread(thread, &record, put);
    buffer_record(out, RECORD_COUNTS, &record);
    buffer_free(&record);
}

void io_counts_after_fork(void)
{
    for (struct io_thread *thread = records; thread != NULL; thread = thread->next) {
        take_thread(thread, NULL, forget);
        if (thread != io_self)
            thread->is_used = 0;
    }
}
