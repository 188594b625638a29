#define _GNU_SOURCE
#include "ring.h"

#include "collector.h"

static void put_words(struct thread *thread, uint64_t *head, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        thread->ring[(*head)++ & (RING_WORDS - 1)] = words[i];
}

static bool has_room(const struct thread *thread)
{
    uint64_t tail = __atomic_load_n(&thread->tail, __ATOMIC_ACQUIRE);
    return RING_WORDS - (thread->head - tail) >= SAMPLE_WORDS + INNER_FRAMES + OUTER_FRAMES;
}

void ring_put(struct thread *thread, const struct sample *sample, size_t frames)
{
    if (!has_room(thread)) {
        thread->counters.lost++;
        return;
    }
    size_t inner = frames < INNER_FRAMES ? frames : INNER_FRAMES;
    size_t beyond = frames - inner;
    size_t outer = beyond < OUTER_FRAMES ? beyond : OUTER_FRAMES;
    uint8_t flags = sample->flags | (beyond > outer ? SAMPLE_ELIDED : 0);
    uint64_t words[SAMPLE_WORDS] = {(uint64_t)sample->weight << 32 | (uint64_t)(inner + outer) << 16 |
                                        (uint64_t)sample->kind << 8 | flags,
                                    sample->time_ns, sample->leaf_pc};
    uint64_t head = thread->head;
    put_words(thread, &head, words, SAMPLE_WORDS);
    put_words(thread, &head, thread->inner, inner);
    for (size_t i = beyond - outer; i < beyond; i++)
        put_words(thread, &head, &thread->outer[i % OUTER_FRAMES], 1);
    __atomic_store_n(&thread->head, head, __ATOMIC_RELEASE);
    if (head - __atomic_load_n(&thread->tail, __ATOMIC_RELAXED) > RING_WORDS / 2)
        collector_request_drain();
    thread->counters.samples++;
    thread->counters.ticks += sample->weight;
}

bool ring_take(struct thread *thread, struct sample *sample)
{
    uint64_t tail = thread->tail;
    if (tail == __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE))
        return false;
    uint64_t first = thread->ring[tail++ & (RING_WORDS - 1)];
    sample->weight = (uint32_t)(first >> 32);
    sample->frame_count = (uint16_t)(first >> 16);
    sample->kind = (uint8_t)(first >> 8);
    sample->flags = (uint8_t)first;
    sample->time_ns = thread->ring[tail++ & (RING_WORDS - 1)];
    sample->leaf_pc = thread->ring[tail++ & (RING_WORDS - 1)];
    for (size_t i = 0; i < sample->frame_count; i++)
        sample->frames[i] = thread->ring[tail++ & (RING_WORDS - 1)];
    __atomic_store_n(&thread->tail, tail, __ATOMIC_RELEASE);
    return true;
}
