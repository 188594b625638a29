/* Time for which the whole process stood still: stopped by a signal (SIGSTOP, Ctrl-Z), by a debugger or in a frozen
 * cgroup, or because the machine slept. For the interval thread alone, whose descriptors are not the application's. */
#ifndef INCPROF_SUSPENSION_H
#define INCPROF_SUSPENSION_H

#include <stdbool.h>
#include <stdint.h>

/* Notes how long this thread has waited for a processor so far: once an interval is enough. */
void suspension_note(void);

/* Whether the process stood still before `now_ns`, when this thread was to wake at `due_ns`, and until when. */
bool suspension_before(uint64_t due_ns, uint64_t now_ns, uint64_t *until_ns);

/* For how long the machine has slept since the last call (0 for the first one): CLOCK_MONOTONIC stood still then.
 * Any thread that holds the collector's lock. */
uint64_t suspension_slept_ns(void);

#endif
