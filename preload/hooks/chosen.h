/* Which programs are recorded. One that is linked with -pg asks for it by itself (process_hooks.c); of all others,
 * those that INCPROF_EXE names. Without it, all that `incprof record` starts (INCPROF_LAUNCH), and at once the one that
 * it has found on its command line (INCPROF_PROGRAM).
 */
#ifndef INCPROF_CHOSEN_H
#define INCPROF_CHOSEN_H

/* Starts the recording of a program that is not linked with -pg, if it is chosen. Only the first call does anything:
 * this library's constructor, or the first thread that another library's makes. Thread-safe. */
void chosen_start(void);

#endif
