/* Waits for ticks of an absolute schedule, for the end of what is sampled, and for signals. */
#ifndef SAMPLER_LOOP_H
#define SAMPLER_LOOP_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "rows.h"

enum end { ENDED, TIME_IS_UP, STOPPED, FAILED };

struct loop {
    int timer, signals, process; /* descriptors; process is -1 where there is none */
    pid_t pid;                   /* of a process that is no child, or 0 */
    const struct child *child;   /* or NULL */
    uint64_t for_ns;             /* 0: without an end */
};

/* Blocks the signals that the loop takes, but for those that are ignored. `before`: what was blocked. */
void loop_block_signals(sigset_t *before);

/* Opens the descriptors, but the timer. 0 or negative errno. */
int loop_open(struct loop *loop, const struct child *child, pid_t pid);

/* A row for each tick until the end. No allocation. One thread at a time; not async-signal-safe. */
enum end loop_run(struct loop *loop, struct rows *rows);

/* For a program whose sampling is over before it is: passes signals on until its end. */
void loop_wait(const struct loop *loop);

#endif
