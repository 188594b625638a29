/* The functions that this library puts in front of libc's: glibc's gprof runtime (replaced), thread creation, process
 * exit, and the calls by which a program could trip over the sampling signal. */
#ifndef INCPROF_HOOKS_H
#define INCPROF_HOOKS_H

/* Makes the calling thread, the program's first, a recorded one. Before main. */
void hooks_start_main_thread(void);

#endif
