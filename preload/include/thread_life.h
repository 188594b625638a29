/* From a thread's first recorded moment to its last one: its record, its ticks and its calls begin and end together. */
#ifndef INCPROF_THREAD_LIFE_H
#define INCPROF_THREAD_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* Makes the calling thread the record's thread: sampled and counted from now on. Async-signal-safe. */
void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc);

/* The calling thread is about to end: its timer goes, what its timer could not see is accounted for. */
void thread_end(struct thread *thread);

/* Unlinks the records of threads that are gone, for use again. `all`: also looks for threads that ended without
 * passing our hook. `take_calls` gets each record before it is free. Collector, after draining. */
void thread_reap(bool all, void (*take_calls)(struct thread *));

/* In a forked child: forgets every thread but the calling one. */
void thread_after_fork(void);

/* Records no thread of this process any more. */
void thread_stop_all(void);

#endif
