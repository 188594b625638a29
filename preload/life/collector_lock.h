/* The lock under which the interval thread drains and writes. Whoever else needs it does so in the application's time
 * (fork does), and waits for so long at most: a file system that hangs must not hang the program, and makes it wait
 * once only.
 *
 * Async-signal-safe and thread-safe. It is the first lock of the collector's: under it, those of the records (thread.c)
 * and of nothing else are taken.
 */
#ifndef INCPROF_COLLECTOR_LOCK_H
#define INCPROF_COLLECTOR_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* How long the application waits just now, for the lock or for an answer: not at all, once it has done so in vain. */
uint64_t collector_lock_patience_ns(void);

/* Somebody has waited in vain, until the lock is free again. */
void collector_lock_note_stall(void);

/* False if it could not be had in so long. */
bool collector_lock_take(uint64_t longest_ns);
void collector_lock_give(void);

/* In a forked child: nobody holds it. */
void collector_lock_forget(void);

#endif
