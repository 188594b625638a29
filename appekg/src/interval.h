/* Takes what all threads did since the last time. For the interval thread. */
#ifndef EKG_INTERVAL_H
#define EKG_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sink.h"

/* Begins the first interval at `start_ns` (CLOCK_MONOTONIC), the time to which all others are relative. */
void interval_start(uint64_t start_ns);

/* Closes the open interval. The snapshot and its rows stay valid until the next call. */
const struct snapshot *interval_take(void);

/* The next interval is the last one, and this thread waits for it: whatever its slots say, it writes none of them. */
void interval_ask_last(pid_t tid);

/* Whether a thread was in the middle of a beat's edge for so long that what it did waits for another interval. */
bool interval_left_some(void);

/* In a forked child: its rows begin anew. */
void interval_forget(void);

#endif
