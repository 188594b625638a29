/* Alternate signal stacks: the sampling signal must never lack room on one.
 *
 * Every thread that has none gets one of ours, because coroutines' stacks may be too small for a signal frame. Where
 * the application sets its own, the kernel uses that for both; so
 *   - one below 8 KiB stays a name: what runs "on" it runs on ours;
 *   - one below 64 KiB is used, but its handlers are not interrupted by our signal, which waits until they return.
 *
 * Everything here is async-signal-safe, as sigaltstack and sigaction are.
 */
#ifndef INCPROF_SIGNAL_STACKS_H
#define INCPROF_SIGNAL_STACKS_H

#include <signal.h>

#include "thread.h"

/* The calling thread's handlers run on our stack until the application says otherwise. */
void signal_stacks_start_thread(struct thread *thread);

/* sigaltstack for the application. `thread` is the calling thread's record, or NULL. Negative errno on failure. */
long signal_stacks_set(struct thread *thread, const stack_t *stack, stack_t *old);

/* In a forked child, before anything else of ours. */
void signal_stacks_after_fork(void);

/* sigaction for the application, for any signal but ours. */
int signal_stacks_action(int number, const struct sigaction *action, struct sigaction *old);

#endif
