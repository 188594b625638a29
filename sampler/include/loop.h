/* Waits for ticks of an absolute schedule, for the end of what is sampled, and for signals. */
#ifndef SAMPLER_LOOP_H
#define SAMPLER_LOOP_H

#include <stdint.h>
#include <sys/types.h>

#include "rows.h"
#include "watch.h"

enum end { ENDED, TIME_IS_UP, STOPPED, FAILED };

struct loop {
    struct watch watch;
    int timer;       /* its descriptor */
    uint64_t for_ns; /* 0: without an end */
};

/* Opens the descriptors; its watch has begun. 0 or negative errno. */
int loop_open(struct loop *loop, const struct child *child, pid_t pid);

/* A row for each tick until the end. No allocation. One thread at a time; not async-signal-safe. */
enum end loop_run(struct loop *loop, struct rows *rows);

#endif
