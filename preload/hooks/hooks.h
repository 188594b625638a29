/* Functions shared by the hooks and the entry stubs (mcount_*.S). */
#ifndef INCPROF_HOOKS_H
#define INCPROF_HOOKS_H

#include <stdint.h>

/* Slow path of the stubs, taken when their fast path finds no slot: a new arc, a full table or an unknown thread.
 * Async-signal-safe: signals are blocked while a slot is claimed, so a handler that calls instrumented functions cannot
 * claim it too. Callable from any thread. */
void incprof_count_slow(uint64_t from, uint64_t self) __attribute__((visibility("hidden")));

/* Choice of the programs to record. A program linked with -pg starts its recording itself (process_hooks.c). Others are
 * recorded if INCPROF_EXE names them or, without that variable, if `incprof record` starts them (INCPROF_LAUNCH); the
 * one on its command line (INCPROF_PROGRAM) is recorded at once. */

/* Start the recording of a program that is not linked with -pg, if it is chosen. Only the first call does anything:
 * that of this library's constructor, or of the first thread that another library's constructor creates.
 * Thread-safe. */
void chosen_start(void);

/* Wrappers of libc's calls that block signals or wait for them. */

/* Really block the calling thread's hidden signal if the application has claimed it. Async-signal-safe. */
void signal_masks_follow(void);

#endif
