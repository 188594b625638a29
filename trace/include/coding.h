/* Events become bytes: see docs/formats.md. For the lane's own thread; not async-signal-safe. */
#ifndef TRACE_CODING_H
#define TRACE_CODING_H

#include <stdbool.h>
#include <stdint.h>

#include "lane.h"

/* Writes the lane's event. False if the ring has no room for it now: nothing has changed, and it may be tried again. */
bool coding_put(struct lane *lane, uint64_t start_ns);

/* It is not written: one more is lost. */
void coding_lose(struct lane *lane);

#endif
