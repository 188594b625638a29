/* Bursts: now and then a thread is looked at every millisecond for a moment, to see steps that are shorter than the
 * distance of its ticks. A look counts for no time (weight 0); ticks go on as they are. Only where nobody counts calls,
 * and where perf's clock is permitted.
 */
#ifndef INCPROF_BURST_H
#define INCPROF_BURST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "thread.h"

/* Before the first thread starts, of the process or of a forked child. Not thread-safe. */
void burst_begin(const struct config *config);

/* When the next one is due, on CLOCK_MONOTONIC. Collector. */
uint64_t burst_due_ns(void);

/* Begins one if it is due, after the end of the one before. Collector. */
void burst_go_on(uint64_t now_ns);

/* Whether a signal is a look at the thread; thread may be NULL. Async-signal-safe and thread-safe. */
bool burst_is_look(const struct thread *thread, const siginfo_t *info);

/* The interval thread ends, and its event with it. Collector. */
void burst_park(void);

#endif
