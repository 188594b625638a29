/* Thread safety: `queue` and the memory of its entries are guarded by the lock, which either thread holds for some
 * instructions; free memory belongs to the interval thread. `queue_futex`, `done`, `error`, `follows` and `ends` are
 * atomic. `output` belongs to the writer while it runs, the rest to the interval thread. */
#define _GNU_SOURCE
#include "output.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "fixed_text.h"
#include "libc.h"
#include "spawn.h"
#include "sys.h"
#include "tasks.h"

#define LEAST_BYTES ((uint64_t)64 << 10)
#define SHARE_OF_ADDRESSES 64          /* divisor of the process's address space limit */
#define KEPT_BYTES ((uint64_t)1 << 20) /* memory kept when the queue is empty */
#define HEAD_BYTES 8                   /* the length, before each */
#define FOLLOW_NS 500000000u
#define LONGEST_EXIT_NS 100000000u
#define FOR_EVER_NS (UINT64_MAX / 4)

/* Entries from `first` to `last`; or, if `end` is not 0, from `first` to `end` and then from the beginning to
 * `last`. */
static struct queue {
    uint64_t first, last, end, highest;
    uint32_t count;
} queue;
static uint32_t lock;
static uint8_t *memory;
static uint64_t memory_bytes;
static uint32_t queue_futex, done; /* futexes: new data or a new request; a completed write or follow */
static uint32_t follows, ends;
static long error;
static struct spawned thread;
static struct output *output;
static struct buffer own_status;
static pid_t interval_tid; /* the interval thread */

static void acquire_lock(void)
{
    const struct timespec pause = {0, 20000};
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0)
        SYS2(SYS_nanosleep, &pause, NULL);
}

static void release_lock(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void notify(uint32_t *futex)
{
    __atomic_add_fetch(futex, 1, __ATOMIC_RELEASE);
    futex_wake(futex);
}

static bool is_set(const uint32_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

/* Return the first entry, which stays in the queue, as a buffer that must not be extended. */
static bool first_entry(struct buffer *data)
{
    acquire_lock();
    bool is_there = queue.count > 0;
    if (is_there && queue.end > 0 && queue.first == queue.end)
        queue.first = queue.end = 0;
    if (is_there) {
        uint64_t length;
        memcpy(&length, memory + queue.first, sizeof length);
        *data = (struct buffer){.data = memory + queue.first + HEAD_BYTES, .length = length, .capacity = length};
    }
    release_lock();
    return is_there;
}

static uint64_t room_for(uint64_t length)
{
    return HEAD_BYTES + ((length + HEAD_BYTES - 1) & ~(uint64_t)(HEAD_BYTES - 1));
}

static void drop_first(uint64_t length)
{
    acquire_lock();
    queue.first += room_for(length);
    queue.count--;
    release_lock();
    notify(&done);
}

/* Adopt the current user of the interval thread, which follows the application. */
static void follow(void)
{
    char path[64] = "self/task/";
    struct buffer status = {0};
    text_append_number(path, sizeof path, (uint64_t)interval_tid, 1);
    text_append(path, sizeof path, "/status");
    if (task_read(path, &status) && credentials_follow(&own_status, (const char *)status.data) == CREDENTIALS_REFUSED)
        __atomic_store_n(&error, -EPERM, __ATOMIC_RELEASE);
    buffer_free(&status);
    __atomic_store_n(&follows, 0, __ATOMIC_RELEASE);
    notify(&done);
}

static void write_first(const struct buffer *data)
{
    long failed = writer_error() != 0 ? 0 : output_append(output, data);
    if (failed != 0)
        __atomic_store_n(&error, failed, __ATOMIC_RELEASE);
    drop_first(data->length);
}

static int enter(void *unused)
{
    (void)unused;
    SYS5(SYS_prctl, PR_SET_NAME, WRITER_NAME, 0, 0, 0);
    for (;;) {
        uint32_t value = __atomic_load_n(&queue_futex, __ATOMIC_ACQUIRE);
        struct buffer data;
        if (is_set(&follows))
            follow();
        else if (is_set(&ends))
            return 0;
        else if (first_entry(&data))
            write_first(&data);
        else
            futex_wait(&queue_futex, value, FOR_EVER_NS);
    }
}

/* Return the queue's size. A program that limits its address space keeps most of it for itself. */
static uint64_t queue_bytes(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    uint64_t bytes = WRITER_MOST_BYTES;
    SYS4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit);
    while (limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur / SHARE_OF_ADDRESSES)
        bytes /= 2;
    return bytes;
}

bool writer_start(struct output *to)
{
    uint64_t bytes = queue_bytes();
    if (bytes < LEAST_BYTES || (memory = sys_alloc_untouched(bytes)) == NULL)
        return false;
    memory_bytes = bytes;
    output = to;
    interval_tid = (pid_t)SYS0(SYS_gettid);
    own_status.length = 0;
    if (spawn_sharing_files(&thread, enter))
        return true;
    sys_free(memory, memory_bytes);
    memory = NULL;
    return false;
}

/* Return the place of `bytes` free bytes, which can be written before the lock is taken again: they are not given out
 * twice. */
static uint8_t *reserve(uint64_t bytes)
{
    if (queue.count == 0) {
        if (queue.highest > KEPT_BYTES)
            SYS3(SYS_madvise, memory + KEPT_BYTES, memory_bytes - KEPT_BYTES, MADV_DONTNEED);
        queue = (struct queue){0};
    }
    bool goes_round = queue.end > 0;
    uint64_t until = goes_round ? queue.first : memory_bytes;
    if (until - queue.last >= bytes)
        return memory + queue.last;
    if (goes_round || queue.first < bytes)
        return NULL;
    queue.end = queue.last;
    queue.last = 0;
    return memory;
}

bool writer_put(const struct buffer *data)
{
    uint64_t length = data->length;
    uint64_t bytes = room_for(length);
    acquire_lock();
    uint8_t *at = reserve(bytes);
    release_lock();
    if (at == NULL)
        return false;
    memcpy(at, &length, sizeof length);
    memcpy(at + HEAD_BYTES, data->data, length);
    acquire_lock();
    queue.last += bytes;
    queue.highest = queue.last > queue.highest ? queue.last : queue.highest;
    queue.count++;
    release_lock();
    notify(&queue_futex);
    return true;
}

long writer_error(void)
{
    return __atomic_load_n(&error, __ATOMIC_ACQUIRE);
}

uint32_t writer_waiting(void)
{
    acquire_lock();
    uint32_t count = queue.count;
    release_lock();
    return count;
}

bool writer_flush(uint64_t deadline_ns)
{
    for (;;) {
        uint32_t value = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
        if (writer_waiting() == 0)
            return true;
        if (!futex_wait(&done, value, deadline_ns))
            return false;
    }
}

void writer_follow(void)
{
    if (spawn_tid(&thread) == 0)
        return;
    uint64_t deadline_ns = monotonic_ns() + FOLLOW_NS;
    __atomic_store_n(&follows, 1, __ATOMIC_RELEASE);
    notify(&queue_futex);
    for (;;) {
        uint32_t value = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
        if (!is_set(&follows) || !futex_wait(&done, value, deadline_ns))
            return;
    }
}

bool writer_end(void)
{
    pid_t tid = spawn_tid(&thread);
    if (tid == 0)
        return true;
    uint64_t deadline_ns = monotonic_ns() + LONGEST_EXIT_NS;
    const struct timespec pause = {0, 100000};
    __atomic_store_n(&ends, 1, __ATOMIC_RELEASE);
    notify(&queue_futex);
    while (SYS3(SYS_tgkill, SYS0(SYS_getpid), tid, 0) == 0) {
        if (monotonic_ns() >= deadline_ns)
            return false;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    writer_forget();
    return true;
}

void writer_forget(void)
{
    spawn_forget(&thread);
    sys_free(memory, memory_bytes);
    memory = NULL;
    queue = (struct queue){0};
    lock = follows = ends = 0;
    error = 0;
}

pid_t writer_tid(void)
{
    return spawn_tid(&thread);
}

uint64_t writer_cpu_ns(void)
{
    pid_t tid = writer_tid();
    return tid > 0 ? sys_clock_ns(sys_thread_clock(tid)) : 0;
}
