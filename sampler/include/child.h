/* The program that is sampled, started stopped. Not async-signal-safe; one thread at a time. */
#ifndef SAMPLER_CHILD_H
#define SAMPLER_CHILD_H

#include <signal.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int go, failed; /* pipes to it and from it */
};

/* Forks a process that waits. `mask`: the signals that were blocked before. 0 or negative errno. */
int child_prepare(struct child *child, const char *program, char **words, const sigset_t *mask);

/* Lets it become the program. 0, or the negative errno of the failure. */
int child_go(struct child *child);

/* Ends it instead, before it has become anything. */
void child_abandon(struct child *child);

/* Whether it has ended; it stays to be waited for. */
int child_has_ended(const struct child *child);

/* The signal that has stopped it, or 0 while it is not stopped. */
int child_stopped_by(const struct child *child);

/* Waits for the end, and ends this process in the same way: never returns. */
_Noreturn void child_become(const struct child *child);

#endif
