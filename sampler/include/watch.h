/* The process that a recorder looks at from outside: the signals that are meant for it, and its end.
 *
 * A recorder that has started a program has the number that the launcher knows. What is sent to that number goes to the
 * program, each signal once; the recorder stops when the program is stopped. What came to the whole process group has
 * reached the program by itself.
 *
 * Not async-signal-safe; one thread. */
#ifndef SAMPLER_WATCH_H
#define SAMPLER_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "child.h"
#include "witness.h"

struct watch {
    int signals, process;      /* descriptors; process is -1 where there is none */
    const struct child *child; /* the program, or NULL: a process that is no child, or none */
    pid_t pid;                 /* of that process, or 0 */
    struct witness witness;
};

/* Blocks the signals that are taken, and before a program is started the witness to them. `before`: what was blocked.
 */
void watch_begin(struct watch *watch, bool has_program, sigset_t *before);

/* `pid`: of a process that is no child, or 0. 0 or negative errno. */
int watch_open(struct watch *watch, const struct child *child, pid_t pid);

/* Passes signals on to the program. Without one, returns whether the recording has to end. */
bool watch_take_signals(struct watch *watch);

bool watch_has_ended(const struct watch *watch);

/* For a program whose recording is over: passes signals on until its end. */
void watch_wait(struct watch *watch);

#endif
