/* The line with which a recording ends, for whoever has typed `incprof record`: how many intervals are where, and what
 * to type next. Once for each program that was started: not by forked children, not by programs that a recorded one
 * starts, and of the ranks of a launch by the lowest. */
#ifndef INCPROF_CLOSING_LINE_H
#define INCPROF_CLOSING_LINE_H

#include <stdint.h>

#include "config.h"
#include "launch.h"

/* Whether the line is asked for, and whether it is this process's to say. Programs that it starts are told that it is.
 * Not thread-safe (getenv, and writes to the value); called once, before main. */
void closing_line_prepare(const struct config *config, const struct launch *launch);

/* Says it, of so many intervals. Async-signal-safe. */
void closing_line_say(uint64_t intervals);

#endif
