#include "ticker.h"

/* Start routines share slots by a hash: they then share missed ticks, too. */
#define SLOTS 64
/* Threads whose time is independent of the kernel's tick miss more than this with a probability of exp(-16). */
#define MOST_MISSED 16

static int64_t missed[SLOTS];

static int64_t *slot_of(uint64_t start_pc)
{
    return &missed[(start_pc >> 4) * 0x9E3779B97F4A7C15u >> 58];
}

void missed_ticks_begin(void)
{
    for (int i = 0; i < SLOTS; i++)
        __atomic_store_n(&missed[i], 0, __ATOMIC_RELAXED);
}

uint64_t missed_ticks_take(uint64_t start_pc)
{
    int64_t *slot = slot_of(start_pc);
    int64_t ticks = __atomic_load_n(slot, __ATOMIC_RELAXED);
    while (ticks > 0 && !__atomic_compare_exchange_n(slot, &ticks, 0, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    return ticks > 0 ? (uint64_t)ticks : 0;
}

uint64_t missed_ticks_leave(uint64_t start_pc, int64_t ticks)
{
    int64_t *slot = slot_of(start_pc);
    int64_t all = __atomic_add_fetch(slot, ticks, __ATOMIC_RELAXED);
    if (all < -MOST_MISSED)
        __atomic_store_n(slot, -MOST_MISSED, __ATOMIC_RELAXED);
    return all > MOST_MISSED ? missed_ticks_take(start_pc) : 0;
}
