/* Thread safety: everything belongs to the lane's thread. No locks. */
#define _GNU_SOURCE
#include "coding.h"

#include <string.h>

#define MOST_LISTED 16384u /* limit of the requests in one event */
#define LONGEST_TIMES 64u
#define MEAN_SHIFT 3
#define FINEST_BITS 9   /* of a time: about 0.2 % of it */
#define COARSEST_BITS 9 /* 2^9 ns: about half a microsecond, at most */
#define WORK_SHIFT 8    /* work closer than this to the gap is written as the gap: 0.4 % */

static const char *const names[][2] = {
#define CALL_(name, lower, kind, ...) {#name, kind},
#include "every_call.h"
};

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/* Return a rank as its shortest cyclic distance from this process in the communicator. */
static uint64_t relative(int peer, int rank, int size)
{
    int64_t distance = (int64_t)peer - rank;
    if (peer == ANY || peer == NO_PROCESS || peer == ROOT_HERE)
        return (uint64_t)(ANY - peer);
    while (size > 0 && 2 * distance > size)
        distance -= size;
    while (size > 0 && 2 * distance <= -size)
        distance += size;
    return 3 + zigzag(distance);
}

static uint8_t *put_message(uint8_t *at, const struct message *message, int rank, int size)
{
    at = put(at, relative(message->peer, rank, size));
    at = put(at, message->tag == ANY ? 0 : 1 + zigzag(message->tag));
    return put(at, message->bytes);
}

static uint8_t *put_started(uint8_t *at, const struct event *e)
{
    uint32_t listed = e->started_count < MOST_LISTED ? e->started_count : MOST_LISTED;
    at = put(at, listed);
    at = put(at, e->started_count - listed);
    for (uint32_t i = 0; i < listed; i++)
        at = put(at, e->started[i]);
    return at;
}

static uint8_t *put_completed(uint8_t *at, const struct lane *lane)
{
    const struct event *e = &lane->event;
    uint32_t listed = e->completed_count < MOST_LISTED ? e->completed_count : MOST_LISTED;
    at = put(at, listed);
    at = put(at, e->completed_count - listed);
    for (uint32_t i = 0; i < listed; i++) {
        const struct completion *completion = &e->completed[i];
        at = put(at, completion->flags);
        if (completion->flags & COMPLETION_OTHER_LANE) {
            at = put(at, completion->lane);
            at = put(at, completion->number);
        } else {
            at = put(at, lane->made - completion->number);
        }
        if (completion->flags & COMPLETION_MESSAGE)
            at = put_message(put(at, completion->object), &completion->message, completion->rank, completion->size);
    }
    return at;
}

/* Build the key: all of the event except its times. */
static bool build_key(struct lane *lane)
{
    const struct event *e = &lane->event;
    size_t lists = (size_t)(e->started_count + e->completed_count) * 48;
    lane->key.length = 0;
    if (!buffer_reserve(&lane->key, 256 + (lists < 48 * 2 * MOST_LISTED ? lists : 48 * 2 * MOST_LISTED)))
        return false;
    uint8_t *at = put(lane->key.data, e->function);
    at = put(at, sites_number(&lane->sites, e->site, &lane->words));
    at = put(at, e->fields);
    if (e->fields & HAS_OBJECT)
        at = put(at, e->object);
    if (e->fields & HAS_PEER)
        at = put(at, relative(e->message.peer, e->rank, e->size));
    if (e->fields & HAS_TAG)
        at = put(at, e->message.tag == ANY ? 0 : 1 + zigzag(e->message.tag));
    if (e->fields & HAS_BYTES)
        at = put(at, e->message.bytes);
    if (e->fields & HAS_OTHER)
        at = put_message(at, &e->other, e->rank, e->size);
    if (e->fields & HAS_ACTUAL)
        at = put_message(at, &e->actual, e->rank, e->size);
    if (e->fields & HAS_VALUE)
        at = put(at, zigzag(e->value));
    if (e->fields & HAS_MADE)
        at = put(at, e->made);
    if (e->fields & HAS_TEMPLATE)
        at = put(at, e->template_id);
    if (e->fields & HAS_STARTED)
        at = put_started(at, e);
    if (e->fields & HAS_COMPLETED)
        at = put_completed(at, lane);
    if (e->fields & HAS_NEW)
        at = put(at, e->created_object);
    lane->key.length = (size_t)(at - lane->key.data);
    return true;
}

static void put_name(struct buffer *words, const char *name)
{
    size_t length = strlen(name);
    buffer_varint(words, length);
    buffer_bytes(words, name, length);
}

/* Collect the descriptions that a reader needs before this event. Kept until an event is written. */
static void explain(struct lane *lane)
{
    const struct event *e = &lane->event;
    if (!lane->functions[e->function]) {
        buffer_u8(&lane->words, RECORD_FUNCTION);
        buffer_varint(&lane->words, e->function);
        put_name(&lane->words, names[e->function][0]);
        put_name(&lane->words, names[e->function][1]);
        lane->functions[e->function] = 1;
    }
    if (e->fields & HAS_OBJECT)
        objects_explain(lane->versions, e->object, &lane->words);
    if (e->fields & HAS_NEW)
        objects_explain(lane->versions, e->created_object, &lane->words);
    for (uint32_t i = 0; i < e->completed_count && i < MOST_LISTED; i++)
        if (e->completed[i].flags & COMPLETION_MESSAGE)
            objects_explain(lane->versions, e->completed[i].object, &lane->words);
    if (lane->lost > lane->written_lost) {
        buffer_u8(&lane->words, RECORD_LOST);
        buffer_varint(&lane->words, lane->lost - lane->written_lost);
        buffer_varint(&lane->words, lane->made - e->made);
        lane->written_lost = lane->lost;
    }
}

static unsigned int quantum_of(uint64_t mean_ns)
{
    unsigned int bits = mean_ns > 0 ? 64 - (unsigned int)__builtin_clzll(mean_ns) : 0;
    return bits <= FINEST_BITS ? 0 : bits - FINEST_BITS < COARSEST_BITS ? bits - FINEST_BITS : COARSEST_BITS;
}

/* Return the distance from the running mean in quanta; replace the time by the reader's reconstruction of it, and
 * update the mean. A time below 0 compensates for earlier times that were rounded up. */
static uint64_t code_time(uint64_t *mean_ns, bool is_timed, int64_t *ns)
{
    unsigned int quantum = quantum_of(*mean_ns);
    int64_t mean = (int64_t)*mean_ns;
    int64_t steps = (*ns - mean + ((int64_t)1 << quantum >> 1)) >> quantum;
    int64_t decoded_ns = mean + steps * ((int64_t)1 << quantum);
    decoded_ns = decoded_ns > 0 ? decoded_ns : 0;
    *ns = decoded_ns;
    *mean_ns = (uint64_t)(is_timed ? mean + ((decoded_ns - mean) >> MEAN_SHIFT) : decoded_ns);
    return zigzag(steps);
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Append the record itself; its shape is known by now. */
static size_t put_record(struct lane *lane, uint32_t number, bool expected, bool is_new, uint64_t start_ns,
                         uint8_t *record)
{
    const struct event *e = &lane->event;
    struct shape *shape = &lane->shapes.shapes[number];
    unsigned int quantum = quantum_of(shape->gap_ns);
    int64_t gap_ns = (int64_t)(since(start_ns, e->start_ns) - lane->last_end_ns);
    uint64_t gap = code_time(&shape->gap_ns, shape->is_timed, &gap_ns);
    int64_t duration_ns = (int64_t)(since(start_ns, e->end_ns) - lane->last_end_ns) - gap_ns;
    uint64_t duration = code_time(&shape->duration_ns, shape->is_timed, &duration_ns);
    int64_t idle_ns = gap_ns - (int64_t)e->work_ns;
    int64_t tolerated = gap_ns >> WORK_SHIFT > (int64_t)1 << quantum ? gap_ns >> WORK_SHIFT : (int64_t)1 << quantum;
    bool is_gap = idle_ns <= tolerated && -idle_ns <= tolerated;
    uint8_t *at = record;
    shape->is_timed = true;
    lane->last_end_ns += (uint64_t)(gap_ns + duration_ns);
    if (expected && is_gap) {
        *at++ = (uint8_t)(RECORD_STEADY | (duration < STEADY_MORE ? duration : STEADY_MORE));
        if (duration >= STEADY_MORE)
            at = put(at, duration - STEADY_MORE);
        return (size_t)(put(at, gap) - record);
    }
    if (!is_new) {
        *at++ = expected ? RECORD_EXPECTED : is_gap ? RECORD_KNOWN : RECORD_KNOWN_WORK;
        if (!expected)
            at = put(at, number);
    }
    at = put(put(at, duration), gap);
    if (!is_gap || is_new)
        at = put(at, zigzag((idle_ns + ((int64_t)1 << quantum >> 1)) >> quantum));
    return (size_t)(at - record);
}

bool coding_put(struct lane *lane, uint64_t start_ns)
{
    uint8_t record[LONGEST_TIMES];
    explain(lane);
    if (!build_key(lane) || lane->words.failed ||
        !ring_make_room(&lane->ring, lane->words.length + lane->key.length + 128) || !counts_have_room(lane))
        return false;
    struct shapes *shapes = &lane->shapes;
    bool expected = shapes_expected(shapes, lane->key.data, lane->key.length);
    bool is_new = false;
    uint32_t number = expected ? shapes->shapes[shapes->last].follower : NO_SHAPE;
    if (!expected) {
        uint64_t hash = shapes_hash(lane->key.data, lane->key.length);
        number = shapes_find(shapes, lane->key.data, lane->key.length, hash);
        is_new = number == NO_SHAPE;
        if (is_new && !shapes_have_room(shapes, lane->key.length)) {
            shapes_forget(shapes);
            buffer_u8(&lane->words, RECORD_FORGET);
        }
        if (is_new) {
            number = shapes_add(shapes, lane->key.data, lane->key.length, hash);
            buffer_u8(&lane->words, RECORD_NEW);
            buffer_varint(&lane->words, lane->key.length);
            buffer_bytes(&lane->words, lane->key.data, lane->key.length);
        }
    }
    counts_put(lane);
    size_t length = put_record(lane, number, expected, is_new, start_ns, record);
    if (lane->words.length > 0) {
        buffer_bytes(&lane->words, record, length);
        ring_put(&lane->ring, lane->words.data, lane->words.length);
        lane->words.length = 0;
    } else {
        ring_put(&lane->ring, record, length);
    }
    shapes_follow(shapes, number);
    __atomic_store_n(&lane->events, lane->events + 1, __ATOMIC_RELAXED);
    return true;
}

void coding_lose(struct lane *lane)
{
    __atomic_store_n(&lane->lost, lane->lost + 1, __ATOMIC_RELAXED);
}
