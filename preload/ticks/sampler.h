/* CPU-time sampling: the tick handler, which unwinds the thread's stack and puts a sample into its ring. */
#ifndef INCPROF_SAMPLER_H
#define INCPROF_SAMPLER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "ring.h"
#include "thread.h"

/* Install the signal handler. Returns false after one line on stderr. Once, before the first thread starts. */
bool sampler_start(const struct config *config);

/* Take the thread's last sample and delete its timer. Async-signal-safe; called by the thread itself. */
void sampler_end_thread(struct thread *thread);

/* The longest time that a walk may take. */
#define SAMPLER_LONGEST_NS 50000

/* Walk the calling thread's stack from the cursor outwards, through Python's frames too, into thread->path. In the tick
 * handler, or with signals blocked. */
void sampler_walk(struct thread *thread, struct cursor *cursor, uint64_t deadline_ns);

/* Dense sampling windows: from time to time a thread is sampled every millisecond, to show steps shorter than its tick
 * period. These samples stand for no time (weight 0); ticks continue unchanged. Only where calls are not counted, and
 * where perf's clock is permitted. */

/* Before the first thread starts, of the process or of a forked child. Not thread-safe. */
void dense_window_begin(const struct config *config);

/* Return when the next window is due, on CLOCK_MONOTONIC. Collector. */
uint64_t dense_window_due_ns(void);

/* Open a window if it is due and the previous one has ended. Collector. */
void dense_window_advance(uint64_t now_ns);

/* Return whether the signal belongs to a dense sampling window of the thread; thread may be NULL. Async-signal-safe and
 * thread-safe. */
bool dense_window_has_signal(const struct thread *thread, const siginfo_t *info);

/* Close the event, before the interval thread ends. Collector. */
void dense_window_park(void);

#endif
