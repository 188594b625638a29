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

/* Says it, of so many intervals of this process; of a job, also of what the others have left in the run directory.
 * Async-signal-safe. */
void closing_line_say(uint64_t intervals);

#endif
