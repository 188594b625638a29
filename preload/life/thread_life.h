/* From a thread's first recorded moment to its last one: its record, its ticks and its calls begin and end together. */
#ifndef INCPROF_THREAD_LIFE_H
#define INCPROF_THREAD_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* Makes the calling thread the record's thread: sampled and counted from now on. Async-signal-safe. */
void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc);

/* The calling thread is about to end: its timer goes, what its timer could not see is accounted for. What it still
 * calls is counted, and the record is not another's before the thread is gone. */
void thread_end(struct thread *thread);

/* Wall time for which the record's threads existed and that has not been reported yet. Collector. */
uint64_t thread_life_ns(struct thread *thread, uint64_t now_ns);

/* Takes a duration after `from_ns`, which has been reported, from the life of every thread that was there then; and
 * returns the sum. Collector. */
uint64_t thread_life_leave_out(uint64_t from_ns, uint64_t duration_ns);

/* Gives each record to `take` once more whose thread is gone: what other destructors did after our hook is there. Also
 * finds threads that ended without passing our hook. Collector. */
void thread_settle(void (*take)(struct thread *));

/* After that, there is nothing in the record until another thread has it. Collector. */
bool thread_is_settled(const struct thread *thread);

/* In a forked child: forgets every thread but the calling one. */
void thread_after_fork(void);

/* Records no thread of this process any more. */
void thread_stop_all(void);

#endif
