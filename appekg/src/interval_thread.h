/* What the interval thread does, and when: an interval at a time, a look at what the operator wants, the last one. */
#ifndef EKG_INTERVAL_THREAD_H
#define EKG_INTERVAL_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the thread. The first interval began at `start_ns` (CLOCK_MONOTONIC). False if there can be none. */
bool interval_thread_start(uint64_t start_ns);

/* Has the last interval written, and waits for it for two seconds at most. */
void interval_thread_stop(void);

#endif
