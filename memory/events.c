/* Thread safety: the counters are atomic. The buffers belong to the interval thread, under the collector's lock; so do
 * the calls of the extension's functions, except begin_recording, which the process's only thread makes. */
#define _GNU_SOURCE
#include "sampling.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "extension.h"
#include "live.h"
#include "sys.h"

#define KIND_ALLOCATIONS 10
#define MOST_WAITING ((size_t)64 << 20) /* bytes of records that are not written yet */
#define DEFAULT_MEAN ((uint64_t)512 << 10)
#define LARGEST_MEAN ((uint64_t)1 << 40)
#define MOST_THINNED 256 /* largest factor on the requested mean */
#define STEP 8           /* part of the mean */

enum state { STATE_RECORDED, STATE_OWN_ALLOCATOR };

struct allocation {
    uint64_t time_ns, id, bytes, consumed, mean_and_flags;
    uint32_t thread, node;
};
struct release {
    uint64_t time_ns, id;
};

static int number = -1;
static enum state state;
static uint64_t requested_mean = DEFAULT_MEAN;
static uint64_t next_id, lost;
static struct buffer allocations, releases, payload;

/* Record as many allocations as the budget permits. Small changes of the mean are left out: each is written. */
static void adjust(void)
{
    uint64_t before = sampling_mean(), mean = requested_mean * extension_thinning(number) / EXTENSION_ALL_EVENTS;
    uint64_t most = requested_mean < LARGEST_MEAN / MOST_THINNED ? MOST_THINNED * requested_mean : LARGEST_MEAN;
    mean = mean < most ? mean : most;
    if (mean > before + before / STEP || mean < before - before / STEP || mean == requested_mean)
        sampling_set_mean(mean);
}

static enum extension_result pass(const uint64_t words[EXTENSION_WORDS], bool has_path)
{
    enum extension_result result = incprof_extension_event(number, words, has_path);
    adjust();
    if (result == EXTENSION_OFF)
        sampling_set(SAMPLING_OFF);
    if (result == EXTENSION_LOST)
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    return result;
}

static bool add(const void *block, uint64_t bytes, uint64_t mean_and_flags, uint64_t consumed_or_id)
{
    uint64_t id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED);
    bool is_continued = (mean_and_flags & EVENT_CONTINUED) != 0;
    if (live_add(block, id) == LIVE_NONE) {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        return false;
    }
    const uint64_t words[EXTENSION_WORDS] = {id, bytes, mean_and_flags, consumed_or_id};
    enum extension_result result = pass(words, !is_continued);
    if (result != EXTENSION_TAKEN)
        live_drop(block);
    return result == EXTENSION_TAKEN;
}

bool events_add(const void *block, uint64_t bytes, const struct pick *pick, uint32_t flags)
{
    if (sampling_mode() != SAMPLING_ON)
        return false;
    uint64_t consumed = sampling_take_bytes();
    bool is_added = add(block, bytes, pick->mean << 3 | flags | (pick->is_certain ? EVENT_CERTAIN : 0), consumed);
    if (!is_added)
        sampling_put_back(consumed);
    return is_added;
}

void events_continue(const void *block, uint64_t bytes, uint64_t id_before)
{
    if (sampling_mode() == SAMPLING_ON)
        add(block, bytes, EVENT_CONTINUED | EVENT_MAPPING, id_before);
}

static void take(const struct extension_event *event)
{
    const struct allocation allocation = {
        .time_ns = event->time_ns,
        .id = event->words[0],
        .bytes = event->words[1],
        .mean_and_flags = event->words[2],
        .consumed = event->words[3],
        .thread = event->thread,
        .node = event->node,
    };
    if (allocations.length + sizeof allocation > MOST_WAITING)
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    else
        buffer_bytes(&allocations, &allocation, sizeof allocation);
}

static void take_release(uint64_t id, uint64_t time_ns)
{
    const struct release release = {.time_ns = time_ns, .id = id};
    if (releases.length + sizeof release <= MOST_WAITING)
        buffer_bytes(&releases, &release, sizeof release);
}

/* The time since the previous record, in microseconds. */
static void put_time(uint64_t time_ns, uint64_t origin_ns, int64_t *before_us)
{
    int64_t now_us = ((int64_t)time_ns - (int64_t)origin_ns) / 1000;
    buffer_zigzag(&payload, now_us - *before_us);
    *before_us = now_us;
}

static void put_allocations(uint64_t origin_ns)
{
    const struct allocation *all = (const struct allocation *)allocations.data;
    int64_t before_us = 0;
    uint64_t id = 0, word = 0;
    for (size_t i = 0; i < allocations.length / sizeof *all; i++) {
        put_time(all[i].time_ns, origin_ns, &before_us);
        buffer_varint(&payload, all[i].thread);
        buffer_varint(&payload, all[i].node);
        buffer_zigzag(&payload, (int64_t)(all[i].id - id));
        buffer_varint(&payload, all[i].bytes);
        buffer_zigzag(&payload, (int64_t)(all[i].mean_and_flags - word));
        buffer_varint(&payload, all[i].consumed);
        id = all[i].id;
        word = all[i].mean_and_flags;
    }
}

static void put_releases(uint64_t origin_ns)
{
    const struct release *all = (const struct release *)releases.data;
    int64_t before_us = 0;
    uint64_t id = 0;
    for (size_t i = 0; i < releases.length / sizeof *all; i++) {
        put_time(all[i].time_ns, origin_ns, &before_us);
        buffer_zigzag(&payload, (int64_t)(all[i].id - id));
        id = all[i].id;
    }
}

static const uint8_t *put(const struct extension_interval *interval, size_t *length)
{
    if (number < 0 || (state == STATE_RECORDED && sampling_mode() == SAMPLING_LATER))
        return NULL;
    if (state == STATE_RECORDED)
        live_each_freed(take_release);
    payload.length = 0;
    payload.failed = false;
    buffer_varint(&payload, state);
    buffer_varint(&payload, sampling_mean());
    buffer_varint(&payload, __atomic_load_n(&lost, __ATOMIC_RELAXED));
    buffer_varint(&payload, live_count());
    buffer_varint(&payload, sampling_outstanding());
    buffer_varint(&payload, allocations.length / sizeof(struct allocation));
    buffer_varint(&payload, releases.length / sizeof(struct release));
    put_allocations(interval->start_ns);
    put_releases(interval->start_ns);
    allocations.length = releases.length = 0;
    allocations.failed = releases.failed = false;
    adjust();
    *length = payload.length;
    return payload.failed ? NULL : payload.data;
}

static void begin_recording(bool forked, bool wanted)
{
    if (forked)
        sampling_restart();
    sampling_begin();
    allocations.length = releases.length = 0;
    lost = 0;
    sampling_set_mean(requested_mean);
    bool is_possible = wanted && state == STATE_RECORDED && live_begin();
    allocator_mark_early();
    sampling_set(is_possible ? SAMPLING_ON : SAMPLING_OFF);
}

static const struct extension extension = {
    .version = EXTENSION_VERSION, .kind = KIND_ALLOCATIONS, .begin = begin_recording, .take = take, .put = put};

/* Parse a number of bytes, with k, M or G behind it; 0: none. */
static uint64_t parse_bytes(const char *text)
{
    char *end;
    uint64_t bytes = strtoull(text, &end, 10);
    uint64_t unit = *end == 'k' || *end == 'K'   ? (uint64_t)1 << 10
                    : *end == 'm' || *end == 'M' ? (uint64_t)1 << 20
                    : *end == 'g' || *end == 'G' ? (uint64_t)1 << 30
                                                 : 1;
    return bytes < LARGEST_MEAN / unit ? bytes * unit : LARGEST_MEAN;
}

__attribute__((constructor)) static void start(void)
{
    const char *asked = getenv("INCPROF_MEMORY");
    if (asked != NULL && *asked != '\0')
        requested_mean = parse_bytes(asked);
    allocator_find_code();
    if (!allocator_provides("malloc"))
        state = STATE_OWN_ALLOCATOR;
    if (requested_mean > 0 && incprof_extension_add != NULL && incprof_extension_event != NULL)
        number = incprof_extension_add(&extension);
    if (number < 0)
        sampling_set(SAMPLING_OFF);
}
