/* Waits for the time to look at the rings, for the end of what is recorded, and for signals. */
#ifndef ATTACH_LOOP_H
#define ATTACH_LOOP_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "events.h"

enum end { ENDED, TIME_IS_UP, STOPPED, FAILED };

struct loop {
    int signals, process;      /* descriptors; process is -1 where there is none */
    const struct child *child; /* the program, or NULL: a process that is no child */
    uint64_t until_ns;         /* CLOCK_MONOTONIC */
};

/* Blocks the signals that the loop takes, but for those that are ignored. `before`: what was blocked. */
void loop_block_signals(sigset_t *before);

/* 0 or negative errno. */
int loop_open(struct loop *loop, const struct child *child, pid_t pid);

/* Takes what the kernel says until the end, and ends all recordings. One thread at a time; not async-signal-safe. */
enum end loop_run(struct loop *loop, struct events *events);

/* For a program whose recording is over before it is: passes signals on until its end. */
void loop_wait(const struct loop *loop);

#endif
