/* Thread safety: the thread itself, in its tick handler or with signals blocked at its end, writes words and then
 * `head` (release); the collector reads them (acquire) and alone writes `tail` (release). No lock. */
#define _GNU_SOURCE
#include "ring.h"

#include "python.h"
#include "switch.h"
#include "worker.h"

static void put_words(struct thread *thread, uint64_t *head, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        thread->ring[(*head)++ & (RING_WORDS - 1)] = words[i];
}

static bool has_room(const struct thread *thread)
{
    uint64_t tail = __atomic_load_n(&thread->tail, __ATOMIC_ACQUIRE);
    return RING_WORDS - (thread->head - tail) >= SAMPLE_WORDS + INNER_FRAMES + OUTER_FRAMES + EXTENSION_WORDS;
}

/* Put a record with the frames of thread->path, and `more` words behind them. `first`: its first word without the
 * number of frames. */
static void put_path(struct thread *thread, uint64_t first, uint64_t time_ns, uint64_t leaf_pc, const uint64_t *more,
                     size_t more_count)
{
    const struct path *path = &thread->path;
    size_t outer = path_outer_count(path);
    size_t inner = path->frames < INNER_FRAMES ? (size_t)path->frames : INNER_FRAMES;
    uint64_t flags = path->frames > (int64_t)(inner + outer) ? SAMPLE_ELIDED : 0;
    uint64_t words[SAMPLE_WORDS] = {first | (uint64_t)(inner + outer) << 16 | flags, time_ns, leaf_pc, thread->number};
    uint64_t head = thread->head;
    put_words(thread, &head, words, SAMPLE_WORDS);
    put_words(thread, &head, path->inner, inner);
    for (size_t i = 0; i < outer; i++) {
        uint64_t frame = path_outer(path, &thread->memory, i);
        put_words(thread, &head, &frame, 1);
    }
    put_words(thread, &head, more, more_count);
    __atomic_store_n(&thread->head, head, __ATOMIC_RELEASE);
    if (head - __atomic_load_n(&thread->tail, __ATOMIC_RELAXED) > RING_WORDS / 2)
        worker_notify(REQUEST_DRAIN);
}

static uint64_t first_word(uint32_t weight, enum sample_kind kind, uint8_t flags)
{
    return (uint64_t)weight << 32 | (uint64_t)kind << 8 | flags;
}

void ring_put(struct thread *thread, const struct sample *sample)
{
    uint64_t first = first_word(sample->weight, sample->kind, sample->flags);
    if (has_room(thread))
        put_path(thread, first, sample->time_ns, sample->leaf_pc, NULL, 0);
    else
        thread_add(&thread->counters.lost, 1);
}

bool ring_put_event(struct thread *thread, uint32_t extension, uint64_t time_ns, uint8_t flags,
                    const uint64_t words[EXTENSION_WORDS])
{
    if (!has_room(thread))
        return false;
    put_path(thread, first_word(extension, KIND_EVENT, flags), time_ns, 0, words, EXTENSION_WORDS);
    return true;
}

bool python_record(struct python_thread *mine, const uint64_t *record, size_t count)
{
    if (mine->take != NULL) {
        mine->take(mine, record, count);
        return true;
    }
    struct thread *thread = (struct thread *)((uint8_t *)mine - offsetof(struct thread, python));
    if (!has_room(thread) || count > INNER_FRAMES + OUTER_FRAMES)
        return false;
    const uint64_t words[SAMPLE_WORDS] = {(uint64_t)count << 16 | (uint64_t)KIND_CODE << 8, 0, 0, thread->number};
    uint64_t head = thread->head;
    put_words(thread, &head, words, SAMPLE_WORDS);
    put_words(thread, &head, record, count);
    __atomic_store_n(&thread->head, head, __ATOMIC_RELEASE);
    return true;
}

bool ring_take(struct thread *thread, struct sample *sample, uint64_t *lost)
{
    uint64_t words[SAMPLE_WORDS];
    uint64_t tail = thread->tail;
    uint64_t head = __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE);
    if (tail == head)
        return false;
    for (size_t i = 0; i < SAMPLE_WORDS; i++)
        words[i] = thread->ring[(tail + i) & (RING_WORDS - 1)];
    sample->weight = (uint32_t)(words[0] >> 32);
    sample->frame_count = (uint16_t)(words[0] >> 16);
    sample->kind = (uint8_t)(words[0] >> 8);
    sample->flags = (uint8_t)words[0];
    size_t more = sample->kind == KIND_EVENT ? EXTENSION_WORDS : 0;
    if (sample->frame_count > INNER_FRAMES + OUTER_FRAMES || sample->kind > KIND_EVENT ||
        words[3] > __atomic_load_n(&thread->number, __ATOMIC_RELAXED) ||
        head - tail < SAMPLE_WORDS + (uint64_t)sample->frame_count + more) {
        (*lost)++;
        __atomic_store_n(&thread->tail, head, __ATOMIC_RELEASE);
        return false;
    }
    sample->time_ns = words[1];
    sample->leaf_pc = words[2];
    sample->thread = (uint32_t)words[3];
    tail += SAMPLE_WORDS;
    for (size_t i = 0; i < sample->frame_count; i++)
        sample->frames[i] = thread->ring[tail++ & (RING_WORDS - 1)];
    for (size_t i = 0; i < more; i++)
        sample->words[i] = thread->ring[tail++ & (RING_WORDS - 1)];
    __atomic_store_n(&thread->tail, tail, __ATOMIC_RELEASE);
    return true;
}
