/* Thread safety: `share` is written before the interval thread exists, the prices by that thread; all are atomic, and
 * read by owners, which see no price until all are set. An account (struct tally) belongs to its owner. slot->skip is
 * changed by the owner and under slots_lock; if the other was faster, its value stays. */
#define _GNU_SOURCE
#include "thinning.h"

#include "catalogue.h"
#include "clock.h"
#include "quiescence.h"
#include "record.h"

#define PART_BITS 20  /* a share in units of 2^-20 */
#define PRICE_BITS 8  /* prices and accounts in fractions of a tick */
#define MOST_RISE 16u /* largest increase of a factor at once, because the sample may be atypical */
#define LARGEST_FACTOR (1u << 24)
#define NANO_PERCENT 100000000000ull

static uint64_t share;
static uint64_t pair_price, skipped_price; /* pair_price last: 0 until all are known */
static uint64_t second;                    /* ticks */

static uint64_t load(const uint64_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

static void store(uint64_t *value, uint64_t now)
{
    __atomic_store_n(value, now, __ATOMIC_RELAXED);
}

void thinning_start(uint64_t nano_percent)
{
    store(&pair_price, 0);
    store(&share, (uint64_t)((unsigned __int128)nano_percent * (1u << PART_BITS) / NANO_PERCENT));
}

static uint64_t price(uint64_t ps, double ticks_per_ns)
{
    return (uint64_t)((double)ps / 1e3 * ticks_per_ns * (1u << PRICE_BITS)) + 1;
}

void thinning_price(void)
{
    const struct cost cost = cost_measured();
    const double ticks_per_ns = clock_is_counter ? cost.ticks_per_ns : 1;
    if (cost.pair_ps == 0 || load(&share) == 0 || !(ticks_per_ns > 0))
        return;
    store(&skipped_price, price(cost.skipped_ps, ticks_per_ns));
    store(&second, (uint64_t)(1e9 * ticks_per_ns));
    __atomic_store_n(&pair_price, price(cost.pair_ps, ticks_per_ns), __ATOMIC_RELEASE);
}

static uint64_t income(uint64_t ticks)
{
    return (ticks << PRICE_BITS) * load(&share) >> PART_BITS;
}

/* Return the factor with which that many turns in that time, a second at most, cost no more than the share: the cost of
 * skipping is subtracted first, but a quarter is left for recording. */
static uint64_t factor_for(uint64_t turns, uint64_t elapsed)
{
    const uint64_t all = income(elapsed);
    const uint64_t skipping = turns * load(&skipped_price);
    const uint64_t left = skipping < all / 4 * 3 ? all - skipping : all / 4;
    const uint64_t factor = left > 0 ? turns * load(&pair_price) / left + 1 : LARGEST_FACTOR;
    return factor < LARGEST_FACTOR ? factor : LARGEST_FACTOR;
}

static bool change_skip(struct slot *slot, struct tally *tally, uint32_t from, uint32_t to)
{
    if (!__atomic_compare_exchange_n(&slot->skip, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&tally->chosen, to, __ATOMIC_RELAXED);
    return true;
}

/* Settle the account; return the number of turns to skip from now on. */
static uint32_t settle(struct slot *slot, struct tally *tally, uint64_t now, uint32_t skip)
{
    const uint64_t pair = __atomic_load_n(&pair_price, __ATOMIC_ACQUIRE);
    const uint64_t recorded = tally->recorded, missed = tally->missed, before = tally->settled;
    tally->recorded = 0;
    tally->missed = 0;
    if (pair == 0)
        return skip;
    const int64_t full = (int64_t)income(load(&second));
    tally->settled = now;
    if (before == 0) {
        tally->account = full;
        return skip;
    }
    uint64_t elapsed = (int64_t)(now - before) > 0 ? now - before : 0;
    if (elapsed > load(&second))
        elapsed = load(&second);
    int64_t account = tally->account + (int64_t)income(elapsed);
    account = account < full ? account : full;
    account -= (int64_t)(recorded * pair + missed * load(&skipped_price));
    tally->account = account > -full ? account : -full;
    if (account >= 0)
        return skip;
    uint64_t wanted = factor_for(recorded + missed, elapsed);
    const uint64_t most = ((uint64_t)skip + 1) * MOST_RISE;
    wanted = wanted < most ? wanted : most;
    if (wanted <= (uint64_t)skip + 1 || !change_skip(slot, tally, skip, (uint32_t)wanted - 1))
        return skip;
    return (uint32_t)wanted - 1;
}

/* Return a random number of turns from half to one and a half times as many, so that the recorded beats do not follow a
 * period of the program. */
static uint32_t spread_out(struct tally *tally, uint32_t skip)
{
    tally->random = tally->random * 1664525u + 1013904223u;
    return skip - skip / 2 + (uint32_t)((uint64_t)tally->random * (skip | 1) >> 32);
}

void thinning_turn(struct record *record, struct slot *slot, uint32_t mode, uint64_t now)
{
    struct tally *tally = record_tally(record, slot);
    uint32_t skip = __atomic_load_n(&slot->skip, __ATOMIC_RELAXED);
    tally->skipped[(mode & MODE_BANK) != 0] += tally->due;
    tally->missed += tally->due;
    tally->recorded += skip != 0 ? 1 : THINNING_TURNS;
    if (tally->recorded >= THINNING_TURNS)
        skip = settle(slot, tally, now != 0 ? now : clock_ticks(), skip);
    const bool thinned = skip != 0 && skip == __atomic_load_n(&tally->chosen, __ATOMIC_RELAXED);
    tally->due = thinned ? spread_out(tally, skip) : skip;
    ekg_skip_((struct ekg_slot_ *)slot, tally->due);
}

void thinning_relax(struct record *record, struct slot *slot, uint64_t turns, uint64_t elapsed)
{
    const uint32_t skip = __atomic_load_n(&slot->skip, __ATOMIC_RELAXED);
    if (skip == 0 || elapsed == 0 || __atomic_load_n(&pair_price, __ATOMIC_ACQUIRE) == 0)
        return;
    const uint32_t own = catalogue_factor(slot->id) - 1;
    if (skip <= own)
        return;
    turns += (uint64_t)skip + skip / 2; /* that may not have ended yet */
    if (elapsed > load(&second)) {
        turns = (uint64_t)((unsigned __int128)turns * load(&second) / elapsed);
        elapsed = load(&second);
    }
    uint64_t wanted = factor_for(turns, elapsed) - 1;
    wanted = wanted > own ? wanted : own;
    if (wanted < skip && wanted <= skip / 2)
        slots_lower(slot, record_tally(record, slot), skip, (uint32_t)wanted, wanted > own);
}
