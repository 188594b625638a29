/* The recorded allocations, from the threads to the collector's stream (docs/reference/formats.md, kind 10).
 * Thread-safe and async-signal-safe. */
#ifndef MEMORY_EVENTS_H
#define MEMORY_EVENTS_H

#include <stdint.h>

#include "sampling.h"

/* Flags of an event. */
enum event_flag {
    EVENT_MAPPING = 1,  /* by mmap */
    EVENT_CERTAIN = 2,  /* recorded for its size: it stands for itself alone */
    EVENT_CONTINUED = 4 /* what is left of an earlier mapping, a part of which was unmapped */
};

/* Record an allocation that sampling_pick has chosen. Returns whether it was. */
bool events_add(const void *block, uint64_t bytes, const struct pick *pick, uint32_t flags);

/* Record what is left of a mapping. */
void events_continue(const void *block, uint64_t bytes, uint64_t id_before);

#endif
