/* Whether this process is recorded just now, and what the application's threads ask the interval thread for.
 *
 * Everything here is async-signal-safe and thread-safe. The state is written by the start and by the interval thread.
 */
#ifndef INCPROF_SWITCH_H
#define INCPROF_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

enum switch_state {
    SWITCH_EARLY, /* the program has not started yet */
    SWITCH_ON,    /* threads are recorded */
    SWITCH_OFF    /* this process is not recorded, or not any more */
};

void switch_set(enum switch_state state);
void switch_pause(bool paused);

/* Whether threads are to be recorded, and whether samples and calls count just now (moncontrol). */
bool switch_is_on(void);
bool switch_is_sampling(void);
bool switch_is_off(void);

/* How long the application waits for the interval thread, at most. */
#define LONGEST_WAIT_NS 2000000000u

/* What the interval thread is asked for, one at a time. */
enum request {
    REQUEST_STOP = 1,
    REQUEST_EXEC,
    REQUEST_PAUSE,
    REQUEST_RESUME,
    REQUEST_SCAN,
    REQUEST_DRAIN,
    REQUEST_TICKERS
};

/* A path ended in unknown code: look for new modules soon. */
void switch_request_scan(void);
bool switch_scan_is_wanted(void);

/* The scan is done; the next one is not before `next_ns` (CLOCK_MONOTONIC). */
void switch_scan_done(uint64_t next_ns);

/* Some thread wants a ticker of the interval thread. `wait`: until it has been seen to, two seconds at most. */
void switch_request_tickers(bool wait);

/* A ring is half full: empty it before its turn. */
void switch_request_drain(void);

#endif
