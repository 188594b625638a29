/* Who may touch what: `head` is released by the thread that puts when the bytes below are there, `tail` by the one that
 * takes when it has them. No locks. */
#define _GNU_SOURCE
#include "ring.h"

#include <string.h>

#include "sys.h"

#define RING_BYTES ((uint64_t)1 << 20)

bool ring_start(struct ring *ring)
{
    ring->bytes = sys_alloc_untouched(RING_BYTES);
    return ring->bytes != NULL;
}

bool ring_has_room(const struct ring *ring, size_t count)
{
    return count <= RING_BYTES - (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
}

void ring_put(struct ring *ring, const void *bytes, size_t count)
{
    uint64_t head = ring->head;
    size_t at = head % RING_BYTES;
    size_t first = count < RING_BYTES - at ? count : RING_BYTES - at;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, count - first);
    __atomic_store_n(&ring->head, head + count, __ATOMIC_RELEASE);
}

bool ring_is_half_full(const struct ring *ring)
{
    return ring->head - __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) > RING_BYTES / 2;
}

size_t ring_take(const struct ring *ring, struct buffer *out)
{
    uint64_t tail = ring->tail;
    size_t count = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail;
    size_t at = tail % RING_BYTES;
    size_t first = count < RING_BYTES - at ? count : RING_BYTES - at;
    buffer_bytes(out, ring->bytes + at, first);
    buffer_bytes(out, ring->bytes, count - first);
    return count;
}

void ring_taken(struct ring *ring, size_t count)
{
    __atomic_store_n(&ring->tail, ring->tail + count, __ATOMIC_RELEASE);
}
