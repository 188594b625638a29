/* The thread that takes an interval at a time, drains the rings in between, and serves requests (requests.h). */
#ifndef INCPROF_INTERVAL_THREAD_H
#define INCPROF_INTERVAL_THREAD_H

#include <stdbool.h>

#include "config.h"

/* Starts it, after collection_begin. False if there can be none. Not thread-safe. */
bool interval_thread_start(const struct config *config);

/* The exec that REQUEST_EXEC came before has failed: intervals are written again. Async-signal-safe and thread-safe. */
void interval_thread_go_on(void);

#endif
