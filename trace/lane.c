/* Thread safety: a lane's fields belong to the thread that owns it. Shared with the writing thread: the list of lanes
 * (lanes are pushed by compare and swap, and never removed), the rings (ring.c), `events`, `lost`, `uncounted` and
 * `shared`. `is_taken` passes a lane from a thread that ends to the next one. No locks. */
#define _GNU_SOURCE
#include "lane.h"

#include <pthread.h>

#include "coding.h"
#include "sys.h"

static struct lane *last;
static uint32_t count;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
_Thread_local struct lane *lane_mine;

static void release_lane(void *own)
{
    struct lane *lane = own;
    lane_mine = NULL;
    if (lane->counters != NULL)
        counters_close(lane->counters);
    __atomic_store_n(&lane->is_taken, false, __ATOMIC_RELEASE);
}

static void make_key(void)
{
    pthread_key_create(&key, release_lane);
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
    lane->versions = sys_alloc_untouched(MOST_OBJECTS * sizeof *lane->versions);
    lane->is_taken = true;
    lane->number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (!ring_start(&lane->ring) || lane->versions == NULL || !shapes_start(&lane->shapes) ||
        !sites_start(&lane->sites))
        return NULL;
    if (counters_count() > 0 && ring_start(&lane->counts))
        lane->counters = counters_new();
    lane->below = __atomic_load_n(&last, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&last, &lane->below, lane, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    return lane;
}

/* Introduce the thread. The lane may have been another thread's: its shapes remain valid, its times do not. */
static void put_thread_record(struct lane *lane)
{
    buffer_u8(&lane->words, RECORD_THREAD); /* goes out with the first event */
    buffer_varint(&lane->words, (uint64_t)SYS0(SYS_gettid));
    lane->is_busy = lane->is_left = false;
    lane->last_end_ns = 0;
    lane->cpu = (struct cpu_clock){0};
    lane->work = lane->work_begin = (struct reading){.is_valid = false};
    if (lane->counters != NULL)
        counters_open(lane->counters);
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
    put_thread_record(lane);
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

struct lane *lane_last(void)
{
    return __atomic_load_n(&last, __ATOMIC_ACQUIRE);
}
