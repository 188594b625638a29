/* Exact call counts: who called whom, per thread, without locks. */
#ifndef INCPROF_ARCS_H
#define INCPROF_ARCS_H

/* For the entry stubs (mcount_x86_64.S) too: the hash of an arc is ((self * ARC_HASH) >> ARC_HASH_SHIFT) + from. */
#define ARC_HASH (-1640531535)
#define ARC_HASH_SHIFT 32
#define ARC_SHIFT 5 /* log2(sizeof(struct arc)) */

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "thread.h"

#define ARCS_FIRST_HOMES 256
/* What overflows the last home goes behind it; one slot more than can be used, where the stubs stop. */
#define ARCS_SLOTS(homes) ((homes) + 32 + 1)

/* Makes an empty table in zeroed memory that has ARCS_SLOTS(homes) of them. */
void arcs_init_table(struct arc_table *table, size_t homes);

/* The entry stubs come here when their fast path finds no slot: a new arc, a full table or an unknown thread.
 * Async-signal-safe: signals are blocked while a slot is claimed, so a handler that calls instrumented functions
 * cannot claim it too. Callable from any thread. */
void incprof_count_slow(uint64_t from, uint64_t self) __attribute__((visibility("hidden")));

/* Calls `take(context, from, self, calls)` for each arc with calls since it was asked last. Collector. */
typedef void (*arcs_taker)(void *context, uint64_t from, uint64_t self, uint64_t calls);
void arcs_take(struct thread *thread, arcs_taker take, void *context);

/* Counts so far are nobody's: in a forked child they are the parent's. */
void arcs_forget(struct thread *thread);

#endif
#endif
