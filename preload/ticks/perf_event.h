/* perf's software clock of a thread, which signals it once in a period of its CPU time. The kernel looks at CPU-time
 * timers at its tick only (HZ); this clock keeps any rate.
 *
 * Everything here is async-signal-safe and thread-safe.
 */
#ifndef INCPROF_PERF_EVENT_H
#define INCPROF_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor of the calling thread's table, or negative errno. `tid`: 0 is the calling thread. Counts nothing yet. */
int perf_event_open(pid_t tid, uint64_t every_ns);

/* Tells the kernel whom the event signals, and by which signal. */
bool perf_event_aim(int fd, pid_t tid, int number);

/* The same, and counts from here on. */
bool perf_event_start(int fd, pid_t tid, int number);

/* Counts no more, until it is started again. */
bool perf_event_stop(int fd);

/* The same as start, until it has signalled so many times. */
bool perf_event_start_some(int fd, pid_t tid, int number, int times);

#endif
