/* The recorded allocations that are not freed yet, by address.
 *
 * Thread-safe and async-signal-safe without locks. A block's address belongs to the thread that has it: an address is
 * added before the program gets it, and removed before the allocator does.
 */
#ifndef MEMORY_LIVE_H
#define MEMORY_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"

#define LIVE_NONE UINT32_MAX

/* How many recorded allocations lie in pages with the same last digits of their number. */
#define LIVE_PAGES ((size_t)1 << 17)
extern uint16_t live_pages[LIVE_PAGES] HIDDEN;

static inline uint16_t *live_page(uintptr_t address)
{
    return &live_pages[address >> 12 & (LIVE_PAGES - 1)];
}

/* Return whether the block may be recorded: next to never for one that is not. */
static inline bool live_may_have(const void *block)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
    bool is_none; /* one instruction, which compilers make of no atomic load */
    __asm__("cmpw $0, %1" : "=@cce"(is_none) : "m"(*live_page((uintptr_t)block)));
    return !is_none;
#else
    return __atomic_load_n(live_page((uintptr_t)block), __ATOMIC_RELAXED) != 0;
#endif
}

/* Make live_may_have true for a range, for good. */
void live_mark(const void *from, size_t bytes);

/* Add a block; returns its entry, or LIVE_NONE: no room. */
uint32_t live_add(const void *block, uint64_t id);

/* Remove the block at once, because its event is lost. */
void live_drop(const void *block);

/* Take the block out, if it is there: LIVE_NONE if not. Then either note that it was freed, or put it back (false: no
 * room). */
uint32_t live_take(const void *block);
void live_freed(uint32_t entry);
bool live_put_back(uint32_t entry, const void *block);

/* Return the id of an entry that was taken out. */
uint64_t live_id(uint32_t entry);

/* Give each freed block since the last call to `use`, with its time (CLOCK_MONOTONIC). Interval thread alone. */
void live_each_freed(void (*use)(uint64_t id, uint64_t time_ns));

/* Return the number of blocks. */
uint64_t live_count(void);

/* Allocate the table, or empty it (in a forked child, by its only thread). False: no memory. */
bool live_begin(void);

#endif
