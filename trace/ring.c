/* Thread safety: the producer releases `head` when the bytes below it are written, the consumer `tail` when it has read
 * them. `bytes` and `size` change only while the ring is empty: the consumer reads them after `head`. No locks. */
#define _GNU_SOURCE
#include "lane.h"

#include <string.h>

#include "sys.h"

#define FIRST_BYTES ((uint64_t)1 << 20)

bool ring_start(struct ring *ring)
{
    ring->size = FIRST_BYTES;
    ring->bytes = sys_alloc_untouched(ring->size);
    return ring->bytes != NULL;
}

bool ring_has_room(const struct ring *ring, size_t count)
{
    return count <= ring->size - (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
}

bool ring_make_room(struct ring *ring, size_t count)
{
    uint64_t size = ring->size;
    if (count <= size || ring->head != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE))
        return ring_has_room(ring, count);
    while (size < count)
        size *= 2;
    uint8_t *bytes = sys_alloc_untouched(size);
    if (bytes == NULL)
        return false;
    sys_free(ring->bytes, ring->size);
    ring->bytes = bytes;
    ring->size = size;
    return true;
}

void ring_put(struct ring *ring, const void *bytes, size_t count)
{
    uint64_t head = ring->head;
    size_t at = head % ring->size;
    size_t first = count < ring->size - at ? count : ring->size - at;
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, (const uint8_t *)bytes + first, count - first);
    __atomic_store_n(&ring->head, head + count, __ATOMIC_RELEASE);
}

bool ring_is_half_full(const struct ring *ring)
{
    return ring->head - __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) > ring->size / 2;
}

size_t ring_take(const struct ring *ring, struct buffer *out)
{
    uint64_t tail = ring->tail;
    size_t count = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) - tail;
    if (count == 0)
        return 0;
    size_t at = tail % ring->size;
    size_t first = count < ring->size - at ? count : ring->size - at;
    buffer_bytes(out, ring->bytes + at, first);
    buffer_bytes(out, ring->bytes, count - first);
    return count;
}

void ring_taken(struct ring *ring, size_t count)
{
    __atomic_store_n(&ring->tail, ring->tail + count, __ATOMIC_RELEASE);
}
