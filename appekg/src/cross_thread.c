#define _GNU_SOURCE
#include "record.h"

#include "quiescence.h"

#define MOST_VAIN_SEARCHES 1000u /* per thread, id and interval: limits the cost for a program that never begins */

struct search {
    const struct record *mine;
    uint32_t id, generation;
};

/* Return another thread's slot of the id, or NULL. */
static struct slot *others_slot(struct record *record, const struct search *search)
{
    if (record == search->mine || __atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != RECORD_LIVE)
        return NULL;
    return record_find(record, search->id);
}

static bool has_open(const struct slot *slot, const struct search *search)
{
    return __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) == search->generation && slot_open(slot) > 0;
}

static bool is_in_doubt(struct record *record, const struct slot *slot)
{
    return __atomic_load_n(&record->in_doubt, __ATOMIC_RELAXED) && !quiescence_await(record, slot, 0);
}

/* Find the record whose open beat of the id began first, and that beat's slot. */
static struct record *oldest_open(const struct search *search, struct slot **slot)
{
    struct record *oldest = NULL;
    uint64_t first = UINT64_MAX;
    for (struct record *record = records_first(); record != NULL; record = record->next) {
        struct slot *other = others_slot(record, search);
        if (other == NULL || !has_open(other, search) || is_in_doubt(record, other))
            continue;
        uint64_t start = slot_oldest(other);
        if (start < first || (start == first && record->number < oldest->number)) {
            first = start;
            oldest = record;
            *slot = other;
        }
    }
    return oldest;
}

/* Return the begin of the n-th oldest open beat; 0 if unknown. The owner is kept out. */
static uint64_t nth_oldest(struct record *record, const struct slot *slot, uint32_t n)
{
    if (n < INLINE_STARTS)
        return __atomic_load_n(&slot->starts[n], __ATOMIC_RELAXED);
    const struct deep_start *deep = record_deep(record);
    uint32_t count = 0;
    for (uint32_t number = slot->deep; number != 0; number = deep[number - 1].outer)
        count++;
    uint32_t number = slot->deep;
    for (; number != 0 && count > n - INLINE_STARTS + 1; count--)
        number = deep[number - 1].outer;
    return number != 0 && count == n - INLINE_STARTS + 1 ? deep[number - 1].ticks : 0;
}

/* Wait until the owner of a slot, whose `revoked` is visibly set, has left it: it ends no beat there until it has taken
 * the lock. */
static bool wait_for(struct record *record, const struct slot *slot)
{
    return quiescence_await(record, slot, monotonic_ns() + LONGEST_AWAIT_NS);
}

/* Take the oldest visible open beat; false if there is none, or if its owner was faster. */
static bool take_oldest(const struct search *search, uint64_t *start)
{
    struct slot *slot = NULL;
    struct record *record = oldest_open(search, &slot);
    if (record == NULL)
        return false;
    __atomic_store_n(&slot->revoked, 1, __ATOMIC_SEQ_CST);
    quiescence_barrier();
    if (!wait_for(record, slot) || slot_open(slot) == 0)
        return false;
    *start = nth_oldest(record, slot, slot->taken);
    __atomic_store_n(&slot->taken, slot->taken + 1, __ATOMIC_RELEASE);
    return true;
}

/* Take an open skipped beat. It has no time, so the first thread's is taken. Its owner detects it at its next call. */
static bool take_skip(const struct search *search)
{
    const struct record *first = NULL;
    struct slot *slot = NULL;
    for (struct record *record = records_first(); record != NULL; record = record->next) {
        struct slot *other = others_slot(record, search);
        if (other == NULL || __atomic_load_n(&other->generation, __ATOMIC_ACQUIRE) != search->generation ||
            slot_skips(other) == 0 || other->taken_skips == UINT16_MAX)
            continue;
        if (first == NULL || record->number < first->number) {
            first = record;
            slot = other;
        }
    }
    if (slot == NULL)
        return false;
    slot->taken_skips++;
    __atomic_store_n(&slot->key, 0, __ATOMIC_RELAXED);
    return true;
}

/* Keep all owners from ending beats of the id, including new ones. */
static void block_owners(const struct search *search)
{
    struct slot *slot;
    for (struct record *record = records_first(); record != NULL; record = record->next)
        if ((slot = others_slot(record, search)) != NULL)
            __atomic_store_n(&slot->revoked, 1, __ATOMIC_SEQ_CST);
    quiescence_barrier();
    for (struct record *record = records_first(); record != NULL; record = record->next)
        if ((slot = others_slot(record, search)) != NULL)
            wait_for(record, slot);
}

enum taken { NOTHING, RECORDED, SKIPPED };

/* Take a beat of another thread. During the first search beats begin and end, so it may miss one. During the second one
 * none ends, so an end with a begin finds it. */
static enum taken take_from_others(const struct search *search, uint64_t *start)
{
    uint64_t mask = lock_take(&slots_lock);
    enum taken taken = take_oldest(search, start) ? RECORDED : take_skip(search) ? SKIPPED : NOTHING;
    if (taken == NOTHING) {
        block_owners(search);
        taken = take_oldest(search, start) ? RECORDED : NOTHING;
    }
    lock_give(&slots_lock, mask);
    return taken;
}

static bool may_search(struct slot *slot)
{
    uint16_t bank = __atomic_load_n(&ekg_shared_.mode, __ATOMIC_RELAXED) & MODE_BANK;
    if (slot->vain_bank != bank)
        slot->vain_searches = 0;
    slot->vain_bank = bank;
    return slot->vain_searches < MOST_VAIN_SEARCHES;
}

bool cross_thread_end(struct record *record, struct slot *slot, uint64_t *start)
{
    const struct search search = {record, slot->id, slot->generation};
    *start = 0;
    bool searches = may_search(slot);
    enum taken taken = searches ? take_from_others(&search, start) : NOTHING;
    if (taken == NOTHING) {
        slot->vain_searches += searches;
        record_count(&record->unmatched);
    } else if (taken == RECORDED && *start == 0) {
        record_count(&record->dropped);
    }
    return taken == RECORDED && *start != 0;
}
