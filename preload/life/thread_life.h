/* The recorded life of a thread: its record, its ticks and its call counts begin and end together. */
#ifndef INCPROF_THREAD_LIFE_H
#define INCPROF_THREAD_LIFE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thread.h"

/* Make the calling thread the record's thread, sampled and counted from now on. Async-signal-safe. */
void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc);

/* Prepare the end of the calling thread: delete its timer, and account for the time since the last tick. Its remaining
 * calls are still counted, and the record is not reused before the thread has ended. */
void thread_end(struct thread *thread);

/* Return the wall time of the record's threads that has not been reported yet. Collector. */
uint64_t thread_life_ns(struct thread *thread, uint64_t now_ns);

/* Subtract a duration after `from_ns`, which is already reported, from the life of every thread that existed then;
 * return the sum. Collector. */
uint64_t thread_life_exclude(uint64_t from_ns, uint64_t duration_ns);

/* Call `take` once more for each record whose thread has ended: it contains calls that other destructors made after our
 * hook. Also finds threads that ended without our hook. Collector. */
void thread_settle(void (*take)(struct thread *));

/* Return whether the record stays empty, after that, until another thread uses it. Collector. */
bool thread_is_settled(const struct thread *thread);

/* In a forked child: forget every thread except the calling one. */
void thread_after_fork(void);

/* Stop recording all threads of this process. */
void thread_stop_all(void);

/* Thread creation hooks: threads get their record before their first instruction, whichever function creates them
 * (thread_create.c). */

/* Start recording the calling thread, the program's first. Before main. */
void thread_hooks_start_main(void);

/* The first code of a thread created by pthread_create or thrd_create; its record holds the stack's size. */
void thread_hooks_enter(struct thread *thread);

/* Return the usable bytes of the stack that `attr` specifies. Thread-safe. */
size_t thread_hooks_stack_bytes(const pthread_attr_t *attr);

/* The cost of counting a call on this machine. */

/* Return the additional time of a call of an instrumented function, in picoseconds; 0 if it cannot be measured.
 * Measured by some thousand calls, in about 0.2 ms. Signals of the calling thread wait meanwhile. By the thread that
 * starts the recording, once, before main. */
uint64_t call_cost_ps(void);

#endif
