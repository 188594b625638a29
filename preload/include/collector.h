/* The life of a recording: start, one image per interval from a thread of its own, fork, end. */
#ifndef INCPROF_COLLECTOR_H
#define INCPROF_COLLECTOR_H

#include <stdbool.h>

/* Reads the environment, claims the run directory and starts to record. Does nothing when called again, when disabled
 * or when this rank or program is not wanted. Not thread-safe: called before main. */
void collector_start(void);

/* Has the last, open interval written and ends the recording. Async-signal-safe and thread-safe: never waits for more
 * than two seconds, after which the open interval is given up. Does nothing in a vfork child. */
void collector_stop(void);

/* The same before an exec, except that the recording goes on if the exec fails. */
void collector_before_exec(void);

/* moncontrol(3): sampling and counting off or on again. Thread-safe. */
void collector_pause(bool paused);

/* Whether threads are to be recorded, and whether samples and calls count just now. Async-signal-safe. */
bool collector_is_on(void);
bool collector_is_sampling(void);

/* A path ended in unknown code: look for new modules soon. Async-signal-safe. */
void collector_request_scan(void);

/* A ring is half full: empty it before its turn. Async-signal-safe. */
void collector_request_drain(void);

#endif
