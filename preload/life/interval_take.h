/* What a thread of this process has recorded, taken into the open interval. Collector, under its lock;
 * async-signal-safe.
 */
#ifndef INCPROF_INTERVAL_TAKE_H
#define INCPROF_INTERVAL_TAKE_H

#include "interval.h"
#include "thread.h"

/* The samples in its ring, and what it has counted of them. */
void interval_take_thread(struct interval *interval, struct thread *thread);

/* The calls since it was asked last. */
void interval_take_calls(struct interval *interval, struct thread *thread);

#endif
