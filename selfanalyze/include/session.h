/* When regions are watched: from the first parallel region of a process to its end. */
#ifndef SELFANALYZE_SESSION_H
#define SELFANALYZE_SESSION_H

#include <stdbool.h>

/* Starts what has not been started, also in a forked child. False when nothing is watched (any more). Not
 * async-signal-safe. */
bool session_start(void);
bool session_is_on(void);

/* Writes what is known, for the last time, or before another program takes the process over. Async-signal-safe; waits
 * for two seconds at most. */
void session_stop(void);
void session_before_exec(void);

#endif
