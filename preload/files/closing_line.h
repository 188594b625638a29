/* The line with which a recording ends, for whoever has typed `incprof record`: how many intervals are where, and what
 * to type next. Once for each program that was started: not by forked children, not by programs that a recorded one
 * starts, and of the ranks of a launch by the lowest. */
#ifndef INCPROF_CLOSING_LINE_H
#define INCPROF_CLOSING_LINE_H

#include <stdint.h>

#include "config.h"
#include "launch.h"

/* Whether the line is asked for, and this process is the one that says it. Programs that it starts then leave it to
 * this one. Not thread-safe (getenv, and writes to the value); called once, before main. */
bool closing_line_take(void);

/* Called after that, where the run directory is known. Before main. */
void closing_line_prepare(const struct config *config, const struct launch *launch);

#define CLOSING_LINE_VARIABLE "INCPROF_CLOSING_LINE"

/* Whether this process is to say it, and the calling thread is its first, which has the stack for it: 24 KiB.
 * Async-signal-safe and thread-safe. */
bool closing_line_is_due(void);

/* Before it becomes a program that cannot say it: reports that one, and why, and where what there is lies.
 * Async-signal-safe, where it is due. */
void closing_line_give_up(const char *program, const char *obstacle);

struct closing {
    uint64_t intervals;                /* of this process */
    uint64_t cpu_begin_ns, cpu_end_ns; /* the process's CPU clock when its recording began, and when it ended */
};

/* Says it; of a job, also of what other processes have left in the run directory. Async-signal-safe. */
void closing_line_say(const struct closing *closing);

#endif
