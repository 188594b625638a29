/* Counters of the open interval: page faults, context switches, CPU time in user and kernel mode, resident memory;
 * with INCPROF_COUNTERS, hardware events of the application's threads.
 *
 * Everything here is for the collector, under its lock. Descriptors are in the interval thread's own table. Nothing is
 * opened in a vfork child, which has no interval thread.
 */
#ifndef INCPROF_COUNTERS_H
#define INCPROF_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "config.h"
#include "counter_values.h"
#include "thread.h"

/* Before the first thread starts, of the process or of a forked child. */
void counters_begin(const struct config *config);

/* Add what a thread's events have counted since the last time. Opens them for a new thread, which is not counted until
 * then, and closes those of the record's last thread. */
void counters_take_thread(struct thread *thread);

/* Note the counters since the last row. `since_ns`: start of the open interval; both on CLOCK_MONOTONIC. */
void counters_row(uint64_t since_ns, uint64_t now_ns);

/* Append the rows of the interval that ends now, as the payload of their image. */
void counters_put(struct buffer *out, uint64_t since_ns, uint64_t now_ns);

/* Close all descriptors: this interval thread ends, and another one will continue. */
void counters_park(void);

/* Hardware events of one thread, in groups that the kernel counts together. */

/* Open the groups that this processor has. `events` counts nothing where that is not permitted. */
void thread_events_open(struct thread_events *events, pid_t tid);
void thread_events_close(struct thread_events *events);

/* Add what the groups have counted since the last time. */
void thread_events_take(struct thread_events *events, struct counter_values *values);

/* Take the microjoules of the processors' packages and memory since the last time. False the first time, and where they
 * cannot be read. */
bool energy_take(uint64_t *uj);
void energy_close(void);

/* Set whether the user knows already that hardware events cannot be counted. Before the first thread. */
void thread_events_begin(bool lack_is_reported);

/* Print one line on stderr, once, if some event could not be counted. */
void thread_events_report(void);

#endif
