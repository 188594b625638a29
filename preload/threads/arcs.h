/* Exact call counts per caller and callee: tables of arcs, each with one writer and a concurrent reader, without a
 * lock. */
#ifndef INCPROF_ARCS_H
#define INCPROF_ARCS_H

/* For the entry stubs (mcount_*.S) too: an arc's home begins at byte (from << ARC_FROM_SHIFT) + self of the table,
 * whose size is a power of two, rounded down to a whole arc. Calls lie five bytes apart and more, functions sixteen:
 * neither needs scattering. */
#define ARC_FROM_SHIFT 3
#define ARC_SHIFT 5 /* log2(sizeof(struct arc)) */

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

/* In place of a table's arcs: nothing is counted. A negative address, which stays negative whatever the stubs add. */
#define ARCS_NONE ((struct arc *)INT64_MIN)

#define ARCS_FIRST_HOMES 256
/* Number of slots: overflow of the last home goes behind it; one unused slot at the end stops the stubs. */
#define ARCS_SLOTS(homes) ((homes) + 32 + 1)

struct arc {
    uint64_t self;  /* return address of mcount: in the called function. 0: free */
    uint64_t from;  /* return address of the called function: in its caller */
    uint64_t count; /* written by the owner alone */
    uint64_t seen;  /* written by the collector alone: the count taken so far */
};

/* Open addressing without wrap-around: the slots behind the last home catch overflow. A full table is not copied: the
 * owner continues with an empty one of twice the size, and the collector reads both. */
struct arc_table {
    struct arc_table *older;
    size_t bytes; /* of this mapping; 0: the memory is not the table's own */
    size_t homes; /* a power of two */
    size_t slots;
    size_t used;
    struct arc arcs[];
};

/* Make an empty table in zeroed memory with ARCS_SLOTS(homes) slots. */
void arcs_init_table(struct arc_table *table, size_t homes);

/* Count a call in *newest, which is replaced by a larger table when full. By the owner alone, with signals blocked.
 * Async-signal-safe. */
void arcs_count(struct arc_table **newest, uint64_t from, uint64_t self);

/* Call `take(context, from, self, calls)` for each arc with calls since the previous take, in the newest table and all
 * older ones. Collector. */
typedef void (*arcs_taker)(void *context, uint64_t from, uint64_t self, uint64_t calls);
void arcs_take(struct arc_table *const *newest, arcs_taker take, void *context);

/* Discard all counts so far: in a forked child they are the parent's. Collector. */
void arcs_forget(struct arc_table *const *newest);

/* Free all tables that have memory of their own. They must not be in use. */
void arcs_free(struct arc_table *newest);

#endif
#endif
