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
bool switch_is_off(void);

/* Return whether threads of the calling process are to be recorded; a vfork child has its parent's state (vfork.h). */
bool switch_is_on_here(void);

#endif
