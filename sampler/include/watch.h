/* The process that a recorder looks at from outside: the signals that are meant for it, and its end.
 *
 * Not async-signal-safe; one thread. */
#ifndef SAMPLER_WATCH_H
#define SAMPLER_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "child.h"

struct watch {
    int signals, process;      /* descriptors; process is -1 where there is none */
    const struct child *child; /* the program, or NULL: a process that is no child, or none */
    pid_t pid;                 /* of that process, or 0 */
};

/* Blocks the signals that are taken, but for those that are ignored. `before`: what was blocked. */
void watch_block_signals(sigset_t *before);

/* `pid`: of a process that is no child, or 0. 0 or negative errno. */
int watch_open(struct watch *watch, const struct child *child, pid_t pid);

/* What is sent to the recorder is meant for its program; the terminal's signals reach that by themselves. Returns
 * whether the recording has to end. */
bool watch_take_signals(const struct watch *watch);

bool watch_has_ended(const struct watch *watch);

/* For a program whose recording is over before it is: passes signals on until its end. */
void watch_wait(const struct watch *watch);

#endif
