/* Waits for the time to look at the rings, for the end of what is recorded, and for signals. */
#ifndef ATTACH_LOOP_H
#define ATTACH_LOOP_H

#include <stdint.h>

#include "events.h"
#include "watch.h"

enum end { ENDED, TIME_IS_UP, STOPPED, FAILED };

/* Takes what the kernel says until the end, or until that time (CLOCK_MONOTONIC), and ends all recordings. One thread
 * at a time; not async-signal-safe. */
enum end loop_run(struct watch *watch, struct events *events, uint64_t until_ns);

#endif
