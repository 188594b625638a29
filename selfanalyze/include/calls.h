/* Calls of parallel regions, on the thread that starts them. */
#ifndef SELFANALYZE_CALLS_H
#define SELFANALYZE_CALLS_H

#include <stdbool.h>

/* A parallel region is entered: `function` holds its code, `threads` is the program's wish (0: none). `caller` is the
 * return address of the run-time's function. Each call is followed by calls_leave on the same thread, unless the
 * process ends meanwhile. errno is kept. */
void calls_enter(const void *function, unsigned int threads, const void *caller);
void calls_leave(void);

/* Makes the calling thread the one that is watched, if there is none. False: another one is, or we are off. */
bool calls_own(void);

#endif
