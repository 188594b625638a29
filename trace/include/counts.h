/* What was counted before each event of a lane, as a row of its own ring (docs/formats.md, block 4). For the lane's own
 * thread; not async-signal-safe. */
#ifndef TRACE_COUNTS_H
#define TRACE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lane.h"

/* The thread has come to an MPI call: what it has done since the last one is kept until the event is written. */
void counts_end_work(struct lane *lane);

/* The MPI call is over: work begins here. */
void counts_begin_work(struct lane *lane);

/* A row for the lane's event; there must be room. */
bool counts_have_room(const struct lane *lane);
void counts_put(struct lane *lane);

size_t counts_row_bytes(void);

#endif
