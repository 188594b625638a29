/* Thread safety: under slots_lock, threads other than a slot's owner change its `revoked`, `taken`, `taken_skips`,
 * `skip` and `key`, and the owner re-enters it. beats_without_record is atomic. Under slots_lock only free_lock
 * (record.c) is taken; `starting` (lifecycle.c) is taken before it. */
#define _GNU_SOURCE
#include "record.h"

#include "clock.h"

struct lock slots_lock;
static uint32_t beats_without_record;

void slots_count_dropped(void)
{
    __atomic_fetch_add(&beats_without_record, 1, __ATOMIC_RELAXED);
}

uint32_t slots_take_dropped(void)
{
    return __atomic_exchange_n(&beats_without_record, 0, __ATOMIC_RELAXED);
}

/* Remove the outermost open beat. For the owner. */
static void remove_outermost(struct record *record, struct slot *slot)
{
    for (uint32_t i = 1; i < INLINE_STARTS; i++)
        __atomic_store_n(&slot->starts[i - 1], slot->starts[i], __ATOMIC_RELAXED);
    if (slot->deep != 0) {
        struct deep_start *deep = record_deep(record);
        uint32_t *link = &slot->deep;
        while (deep[*link - 1].outer != 0)
            link = &deep[*link - 1].outer;
        uint32_t number = *link;
        *link = 0;
        __atomic_store_n(&slot->starts[INLINE_STARTS - 1], deep[number - 1].ticks, __ATOMIC_RELAXED);
        record_release_deep(record, number);
    } else if (slot->untimed > 0) {
        slot->untimed--; /* it now has an inline place, but no time: it counts from here */
        __atomic_store_n(&slot->starts[INLINE_STARTS - 1], clock_ticks(), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&slot->depth, slot->depth - 1, __ATOMIC_RELEASE);
}

/* Update the skipped turns: a lower factor applies at once, and other threads have ended beats. `ended`: including the
 * last recorded one. */
static void update_skips(struct record *record, struct slot *slot, bool ended)
{
    uint64_t skip = __atomic_load_n(&slot->skip, __ATOMIC_RELAXED);
    uint64_t left = slot->skipping % EKG_SKIPPED_;
    uint64_t open = slot_skips(slot);
    uint64_t remaining = ended || left > skip ? skip : left;
    slot->taken_skips = 0;
    if (remaining != left)
        record_tally(record, slot)->due += (uint32_t)(remaining - left);
    ekg_skip_((struct ekg_slot_ *)slot, open * EKG_SKIPPED_ + remaining);
}

static void forget(struct record *record, struct slot *slot)
{
    record_forget_open(record, slot);
    slot->taken_skips = 0;
    __atomic_store_n(&slot->taken, 0, __ATOMIC_RELAXED);
}

bool slots_set_up(struct record *record, struct slot *slot, uint32_t on)
{
    uint64_t mask = lock_take(&slots_lock);
    if (__atomic_load_n(&ekg_shared_.on, __ATOMIC_ACQUIRE) != on) {
        lock_give(&slots_lock, mask);
        return false;
    }
    if (slot->generation != on) {
        forget(record, slot);
        __atomic_store_n(&slot->generation, on, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&slot->key, ekg_key_(on, slot->id), __ATOMIC_RELAXED);
    uint32_t taken = __atomic_exchange_n(&slot->taken, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < taken && slot->depth > 0; i++)
        remove_outermost(record, slot);
    update_skips(record, slot, taken > 0 && slot->depth == 0);
    __atomic_store_n(&slot->revoked, 0, __ATOMIC_RELEASE);
    lock_give(&slots_lock, mask);
    return true;
}

void slots_set_rate(uint32_t id, uint32_t skip)
{
    uint64_t mask = lock_take(&slots_lock);
    for (struct record *record = records_first(); record != NULL; record = record->next) {
        struct slot *slot = record_find(record, id);
        if (slot == NULL)
            continue;
        __atomic_store_n(&slot->skip, skip, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->key, 0, __ATOMIC_RELAXED); /* the owner then calls set_up */
    }
    lock_give(&slots_lock, mask);
}

void slots_lower(struct slot *slot, struct tally *tally, uint32_t from, uint32_t skip, bool chosen)
{
    uint64_t mask = lock_take(&slots_lock);
    if (__atomic_compare_exchange_n(&slot->skip, &from, skip, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&tally->chosen, chosen ? skip : 0, __ATOMIC_RELAXED);
        __atomic_store_n(&slot->key, 0, __ATOMIC_RELAXED); /* the owner then calls set_up */
    }
    lock_give(&slots_lock, mask);
}

void slots_recycle(struct record *record)
{
    uint64_t mask = lock_take(&slots_lock);
    record_recycle(record);
    lock_give(&slots_lock, mask);
}

void slots_revoke_all(void)
{
    uint64_t mask = lock_take(&slots_lock);
    for (struct record *record = records_first(); record != NULL; record = record->next)
        for (uint32_t i = 0; i < __atomic_load_n(&record->touched_count, __ATOMIC_ACQUIRE); i++)
            __atomic_store_n(&record_slots(record)[record->touched[i]].revoked, 1, __ATOMIC_SEQ_CST);
    lock_give(&slots_lock, mask);
}

uint64_t slots_before_fork(void)
{
    return lock_take(&slots_lock);
}

void slots_after_fork(uint64_t mask)
{
    lock_give(&slots_lock, mask);
}
