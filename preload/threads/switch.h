/* The recording state of this process.
 *
 * Everything here is async-signal-safe and thread-safe. The state is written by the start and by the interval thread,
 * and read by all.
 */
#ifndef INCPROF_SWITCH_H
#define INCPROF_SWITCH_H

#include <stdbool.h>

enum switch_state {
    SWITCH_EARLY, /* the program has not started yet */
    SWITCH_ON,    /* threads are recorded */
    SWITCH_OFF    /* this process is not recorded, or no longer */
};

void switch_set(enum switch_state state);
void switch_pause(bool paused);

/* Return whether threads are to be recorded; and whether samples and calls currently count (moncontrol). */
bool switch_is_on(void);
bool switch_is_sampling(void);
bool switch_is_paused(void); /* by moncontrol */
bool switch_is_off(void);

/* Return whether threads of the calling process are to be recorded; a vfork child has its parent's state (vfork.h). */
bool switch_is_on_here(void);

/* Requests to the interval thread, one at a time (worker_request, worker_notify). */

enum request {
    REQUEST_STOP = 1,
    REQUEST_LEAVE,   /* the same before the process ends: the closing line appears if there is any data */
    REQUEST_CLOSE,   /* the same, without the line at its end */
    REQUEST_EXEC,    /* write all data: the program may execute another one */
    REQUEST_FLUSH,   /* write the open interval */
    REQUEST_PARK,    /* end the thread but not the recording */
    REQUEST_PAUSE,   /* stop counting samples and calls (moncontrol) */
    REQUEST_RESUME,  /* they do */
    REQUEST_SCAN,    /* a path ended in unknown code: scan for new modules */
    REQUEST_DRAIN,   /* a ring is half full: drain it early */
    REQUEST_LOOK_UP, /* libraries were loaded, and one may be unloaded */
    REQUEST_REMAP,   /* libraries were unloaded */
    REQUEST_TICKERS  /* a thread needs a ticker from the interval thread */
};

#endif
