/* A ring of bytes between one thread that puts and one that takes. Nothing here waits.
 *
 * ring_put, ring_has_room and ring_make_room are for the thread that puts, ring_take and ring_taken for the one that
 * takes; the rest is for either. Async-signal-safe. */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct ring {
    uint8_t *bytes;
    uint64_t size;
    uint64_t head, tail; /* bytes put and taken since the start; atomic */
};

/* False where there is no memory. Not thread-safe. */
bool ring_start(struct ring *ring);

bool ring_has_room(const struct ring *ring, size_t count);

/* The same; an empty ring that could never hold so many is put in the place of this one's bytes. */
bool ring_make_room(struct ring *ring, size_t count);

/* There must be room. */
void ring_put(struct ring *ring, const void *bytes, size_t count);

bool ring_is_half_full(const struct ring *ring);

/* Appends all that is in the ring, and returns how many bytes that are. Their place is free after ring_taken. */
size_t ring_take(const struct ring *ring, struct buffer *out);
void ring_taken(struct ring *ring, size_t count);

#endif
