/* Who may touch what: a lane's fields belong to the thread that has it. Shared with the writing thread: the list of
 * lanes (lanes are pushed by compare and swap, and never removed), `head` (released by the thread when the bytes below
 * are there), `tail` (released by the writing thread when it has taken them), `events` and `lost`. `is_taken` passes a
 * lane from a thread that ends to the next one. No locks. */
#define _GNU_SOURCE
#include "lane.h"

#include <pthread.h>
#include <string.h>

#include "records.h"
#include "sys.h"

#define RING_BYTES ((uint64_t)1 << 20)

static struct lane *last;
static uint32_t count;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
_Thread_local struct lane *lane_mine;

static void give_back(void *lane)
{
    lane_mine = NULL;
    __atomic_store_n(&((struct lane *)lane)->is_taken, false, __ATOMIC_RELEASE);
}

static void make_key(void)
{
    pthread_key_create(&key, give_back);
}

static struct lane *take_over(void)
{
    for (struct lane *lane = lane_last(); lane != NULL; lane = lane->below) {
        bool expected = false;
        if (__atomic_compare_exchange_n(&lane->is_taken, &expected, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return lane;
    }
    return NULL;
}

static struct lane *make(void)
{
    struct lane *lane = sys_alloc(sizeof *lane);
    if (lane == NULL)
        return NULL;
    lane->ring = sys_alloc_untouched(RING_BYTES);
    lane->versions = sys_alloc_untouched(MOST_OBJECTS * sizeof *lane->versions);
    lane->is_taken = true;
    lane->number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (lane->ring == NULL || lane->versions == NULL || !shapes_start(&lane->shapes) || !sites_start(&lane->sites))
        return NULL;
    lane->below = __atomic_load_n(&last, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&last, &lane->below, lane, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return lane;
}

/* A lane may be another thread's of before: its shapes go on, its times do not. */
static void introduce(struct lane *lane)
{
    buffer_u8(&lane->words, RECORD_THREAD); /* goes out with the first event */
    buffer_varint(&lane->words, (uint64_t)SYS0(SYS_gettid));
    lane->is_busy = false;
    lane->last_end_ns = 0;
    lane->cpu = (struct cpu_clock){0};
    lane->shapes.last = NO_SHAPE;
}

struct lane *lane_open(void)
{
    pthread_once(&key_once, make_key);
    struct lane *lane = take_over();
    if (lane == NULL)
        lane = make();
    if (lane == NULL)
        return NULL;
    introduce(lane);
    pthread_setspecific(key, lane);
    lane_mine = lane;
    return lane;
}

void lane_forget(void)
{
    lane_mine = NULL;
    last = NULL;
    pthread_once(&key_once, make_key);
    pthread_setspecific(key, NULL);
}

bool lane_has_room(const struct lane *lane, size_t n)
{
    return n <= RING_BYTES - (lane->head - __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE));
}

void lane_put(struct lane *lane, const void *bytes, size_t n)
{
    uint64_t head = lane->head;
    size_t at = head % RING_BYTES;
    size_t first = n < RING_BYTES - at ? n : RING_BYTES - at;
    memcpy(lane->ring + at, bytes, first);
    memcpy(lane->ring, (const uint8_t *)bytes + first, n - first);
    __atomic_store_n(&lane->head, head + n, __ATOMIC_RELEASE);
}

bool lane_is_half_full(const struct lane *lane)
{
    return lane->head - __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) > RING_BYTES / 2;
}

struct lane *lane_last(void)
{
    return __atomic_load_n(&last, __ATOMIC_ACQUIRE);
}

size_t lane_take(const struct lane *lane, struct buffer *out)
{
    uint64_t tail = lane->tail;
    size_t n = __atomic_load_n(&lane->head, __ATOMIC_ACQUIRE) - tail;
    size_t at = tail % RING_BYTES;
    size_t first = n < RING_BYTES - at ? n : RING_BYTES - at;
    buffer_bytes(out, lane->ring + at, first);
    buffer_bytes(out, lane->ring, n - first);
    return n;
}

void lane_taken(struct lane *lane, size_t n)
{
    __atomic_store_n(&lane->tail, lane->tail + n, __ATOMIC_RELEASE);
}
