/* Functions that this library puts in front of libc's: glibc's gprof runtime (replaced), thread creation and process
 * exit. Others are in exec.c, signal_actions.c, signal_masks.c and signal_stacks.c. */
#ifndef INCPROF_HOOKS_H
#define INCPROF_HOOKS_H

/* Makes the calling thread, the program's first, a recorded one. Before main. */
void hooks_start_main_thread(void);

#endif
