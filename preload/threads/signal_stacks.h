/* The stacks that signal handlers run on.
 *
 * Our handler asks for the signal stack (SA_ONSTACK), and every thread that has none gets one of ours, because
 * coroutines' stacks may be too small for a signal frame. The kernel has one signal stack for a thread, so that the
 * application's handlers would run on ours too; and what the application sets for a thread takes our place. Therefore:
 *   - until the application has set a signal stack, for whatever thread, its handlers run where they were interrupted,
 *     as they would without us (SA_ONSTACK is kept for it and not passed on);
 *   - a stack below 8 KiB stays a name: what runs "on" it runs on ours;
 *   - what a handler sets while it runs, the kernel undoes when it returns, if the thread had ours: the application is
 *     told what it has set, and its handlers run on ours;
 *   - once there is one below 64 KiB, handlers on signal stacks are not interrupted by the ticks, which wait until they
 *     return.
 *
 * Everything here is async-signal-safe and thread-safe but for signal_stacks_begin. The lock inside is held with all
 * signals blocked, for a few system calls, and no other is taken under it.
 */
#ifndef INCPROF_SIGNAL_STACKS_H
#define INCPROF_SIGNAL_STACKS_H

#include <signal.h>

#include "thread.h"

/* Rules are in force from here on, for handlers that are installed already too. Without it, all below pass everything
 * on to libc. `ticks`: the signals that handlers on small stacks are spared. Once, before the first thread starts. */
void signal_stacks_begin(const sigset_t *ticks);

/* The calling thread's handlers run on our stack until the application says otherwise. */
void signal_stacks_start_thread(struct thread *thread);

/* In a forked child, before anything else of ours. */
void signal_stacks_after_fork(void);

/* sigaction for the application, for any signal but the ticks'. */
int signal_stacks_action(int number, const struct sigaction *action, struct sigaction *old);

#endif
