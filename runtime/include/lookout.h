/* What has become of the application, without libc's knowing it: has it ended, is it another user. For the interval
 * thread alone, but for the first function. */
#ifndef RUNTIME_LOOKOUT_H
#define RUNTIME_LOOKOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Before the thread is made. */
void lookout_start(void);

/* When the thread has to look at the latest, on CLOCK_MONOTONIC. */
uint64_t lookout_due_ns(void);

/* To be called whenever the thread has woken up: looks if it is time to, or `at_once`, and makes this thread the user
 * that the application is. False when the recording has to end: there is no thread of the application left, or, after
 * one line on stderr, it is a user that this thread cannot become. */
bool lookout_goes_on(bool at_once);

/* With what this thread ends, so that the process, where it is its last one, ends as it would have without it. May end
 * it by a signal. */
int lookout_exit_code(void);

/* After that: whether no thread of the application was left. */
bool lookout_is_alone(void);

#endif
