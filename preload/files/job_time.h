/* The CPU time of the processes that this one has started. */
#ifndef INCPROF_JOB_TIME_H
#define INCPROF_JOB_TIME_H

#include <stdint.h>

/* Nanoseconds, of the children that it has waited for, with their descendants, and of those that it has not: of a
 * container's first process, a pool's server. What has left the tree of processes (a daemon) is not in it.
 * Async-signal-safe. */
uint64_t job_time_ns(void);

#endif
