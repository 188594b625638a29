/* Which programs are recorded. One that is linked with -pg asks for it by itself (process_hooks.c); of all others,
 * those that INCPROF_EXE names, or without it the one that `incprof record` has found on its command line
 * (INCPROF_PROGRAM).
 */
#ifndef INCPROF_CHOSEN_H
#define INCPROF_CHOSEN_H

/* Starts the recording of a program that is not linked with -pg, if it is chosen. Only the first call does anything:
 * this library's constructor, or the first thread that another library's makes. Thread-safe. */
void chosen_start(void);

#endif
