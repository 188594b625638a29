/* Thread safety: a record's fields belong to its owner, with the exceptions in record.h and quiescence.h. `newest` is a
 * list to which any thread pushes and from which nothing is removed (a forked child drops it as a whole).
 * `free_records` is guarded by free_lock, under which no other lock is taken; slots_lock may be held. `numbers` is
 * atomic. The key is made at the first beat, with `starting` held (lifecycle.c). */
#define _GNU_SOURCE
#include "record.h"

#include <pthread.h>

#include "catalogue.h"
#include "sys.h"

#define MAP_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

__thread struct ekg_slot_ *ekg_slots_ __attribute__((tls_model("initial-exec")));

static struct record *newest; /* a list that only grows, up to the number of threads in one interval */
static struct record *free_records;
static struct lock free_lock;
static uint32_t numbers;
static pthread_key_t end_key;
static bool has_key;

/* Run in each thread that ends. The interval thread takes the remaining data. */
static void thread_ends(void *slots)
{
    struct record *record = record_of(slots);
    ekg_slots_ = NULL;
    __atomic_store_n(&record->state, RECORD_ENDED, __ATOMIC_RELEASE);
}

bool records_start(void)
{
    has_key = pthread_key_create(&end_key, thread_ends) == 0;
    return has_key;
}

static struct record *free_record(void)
{
    if (__atomic_load_n(&free_records, __ATOMIC_RELAXED) == NULL)
        return NULL;
    uint64_t mask = lock_take(&free_lock);
    struct record *record = free_records;
    if (record != NULL)
        __atomic_store_n(&free_records, record->next_free, __ATOMIC_RELAXED);
    lock_give(&free_lock, mask);
    return record;
}

/* Create a record. Most of it is never touched, and so never allocated, even in a program that locks its memory
 * (mlockall), because inaccessible pages are not populated. */
static struct record *new_record(void)
{
    long at = SYS6(SYS_mmap, 0, RECORD_BYTES, PROT_NONE, MAP_FLAGS, -1, 0);
    if (at < 0 && at > -4096)
        return NULL;
    struct record *record = (struct record *)at;
    SYS2(SYS_munlock, record, RECORD_BYTES);
    SYS3(SYS_madvise, record, RECORD_BYTES, MADV_NOHUGEPAGE);
    if (SYS3(SYS_mprotect, record, RECORD_BYTES, PROT_READ | PROT_WRITE) == 0)
        return record;
    sys_free(record, RECORD_BYTES);
    return NULL;
}

static void publish(struct record *record)
{
    record->next = __atomic_load_n(&newest, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&newest, &record->next, record, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

struct record *records_first(void)
{
    return __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
}

static struct record *any_record(void)
{
    struct record *record = free_record();
    bool fresh = record == NULL;
    if (fresh && (record = new_record()) == NULL)
        return NULL;
    record->tid = (pid_t)SYS0(SYS_gettid);
    record->displaced_above = EKG_SLOTS_;
    __atomic_store_n(&record->number, __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&record->state, RECORD_LIVE, __ATOMIC_RELEASE);
    if (fresh)
        publish(record);
    return record;
}

/* Signals are blocked, because a handler would create another record for the same thread. */
struct record *record_of_thread(void)
{
    if (ekg_slots_ != NULL)
        return record_of(ekg_slots_);
    uint64_t mask = signals_block();
    struct record *record = any_record();
    if (record != NULL) {
        ekg_slots_ = (struct ekg_slot_ *)record_slots(record);
        pthread_setspecific(end_key, ekg_slots_);
    }
    sys_set_signal_mask(mask);
    return record;
}

static bool is_used(const struct slot *slot)
{
    return __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) != 0;
}

static struct slot *place_of(struct record *record, uint32_t id)
{
    return &record_slots(record)[id % EKG_SLOTS_];
}

/* Return the entry of a displaced id, or the free one for it. */
static uint16_t *entry_of(struct record *record, uint32_t id)
{
    uint16_t *index = record_index(record);
    for (uint32_t at = spread(id, INDEX_PLACES);; at = (at + 1) % INDEX_PLACES) {
        uint16_t number = __atomic_load_n(&index[at], __ATOMIC_ACQUIRE);
        if (number == 0 || record_slots(record)[number - 1].id == id)
            return &index[at];
    }
}

struct slot *record_find(struct record *record, uint32_t id)
{
    struct slot *slot = place_of(record, id);
    if (!is_used(slot))
        return NULL;
    if (slot->id == id)
        return slot;
    uint16_t number = __atomic_load_n(entry_of(record, id), __ATOMIC_ACQUIRE);
    return number != 0 ? &record_slots(record)[number - 1] : NULL;
}

/* Return a free slot, from the end, because ids are hardly ever that high. There is always one. */
static struct slot *any_place(struct record *record)
{
    struct slot *slots = record_slots(record);
    while (is_used(&slots[record->displaced_above - 1]))
        record->displaced_above--;
    return &slots[record->displaced_above - 1];
}

static struct slot *add(struct record *record, uint32_t id, uint32_t generation)
{
    struct slot *slot = place_of(record, id);
    bool is_displaced = is_used(slot);
    if (is_displaced)
        slot = any_place(record);
    uint16_t number = (uint16_t)(slot - record_slots(record));
    slot->id = id;
    record->touched[record->touched_count] = number;
    __atomic_store_n(&slot->generation, generation, __ATOMIC_RELEASE);
    __atomic_store_n(&record->touched_count, record->touched_count + 1, __ATOMIC_RELEASE);
    if (is_displaced)
        __atomic_store_n(entry_of(record, id), (uint16_t)(number + 1), __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with ekg_rate: one of the two sees the other */
    __atomic_store_n(&slot->skip, catalogue_factor(id) - 1, __ATOMIC_RELAXED);
    return slot;
}

struct slot *record_claim(struct record *record, uint32_t id, uint32_t generation)
{
    struct slot *slot = record_find(record, id);
    if (slot != NULL || record->touched_count == EKG_SLOTS_)
        return slot;
    uint64_t mask = signals_block(); /* a handler may want a slot as well */
    slot = record_find(record, id);
    if (slot == NULL && record->touched_count < EKG_SLOTS_)
        slot = add(record, id, generation);
    sys_set_signal_mask(mask);
    return slot;
}

static void set_deep_busy(struct record *record, bool busy)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&record->deep_busy, busy, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A handler during another change gets none. */
uint32_t record_acquire_deep(struct record *record)
{
    if (record->deep_busy)
        return 0;
    set_deep_busy(record, true);
    uint32_t number = record->deep_free;
    if (number != 0)
        record->deep_free = record_deep(record)[number - 1].outer;
    else if (record->deep_used < DEEP_STARTS)
        number = ++record->deep_used;
    set_deep_busy(record, false);
    return number;
}

/* If a handler must not change the list, the entry is lost for the rest of the thread's life. */
void record_release_deep(struct record *record, uint32_t number)
{
    if (record->deep_busy)
        return;
    set_deep_busy(record, true);
    record_deep(record)[number - 1].outer = record->deep_free;
    record->deep_free = number;
    set_deep_busy(record, false);
}

void record_forget_open(struct record *record, struct slot *slot)
{
    while (slot->deep != 0) {
        uint32_t number = slot->deep;
        slot->deep = record_deep(record)[number - 1].outer;
        record_release_deep(record, number);
    }
    slot->untimed = 0;
    record_tally(record, slot)->due -= (uint32_t)(slot->skipping % EKG_SKIPPED_);
    ekg_skip_((struct ekg_slot_ *)slot, 0);
    __atomic_store_n(&slot->depth, 0, __ATOMIC_RELEASE);
}

void record_recycle(struct record *record)
{
    for (uint32_t i = 0; i < record->touched_count; i++) {
        struct slot *slot = &record_slots(record)[record->touched[i]];
        *record_tally(record, slot) = (struct tally){.due = 0};
        *slot = (struct slot){.key = 0};
    }
    SYS3(SYS_madvise, record_deep(record), RECORD_DEEP_BYTES + RECORD_INDEX_BYTES, MADV_DONTNEED);
    record->touched_count = record->dropped = record->unmatched = 0;
    record->dropped_taken = record->unmatched_taken = record->deep_used = record->deep_free = 0;
    record->announced = record->in_doubt = record->deep_busy = false;
    __atomic_store_n(&record->state, RECORD_FREE, __ATOMIC_RELEASE);
    uint64_t mask = lock_take(&free_lock);
    record->next_free = free_records;
    __atomic_store_n(&free_records, record, __ATOMIC_RELAXED);
    lock_give(&free_lock, mask);
}

void records_stop(void)
{
    if (has_key)
        pthread_key_delete(end_key);
    has_key = false;
}

/* The calling thread's own record stays mapped: a handler that forks may return to a beat that it has interrupted. */
void records_forget(void)
{
    struct record *record = newest;
    const struct record *mine = ekg_slots_ != NULL ? record_of(ekg_slots_) : NULL;
    newest = free_records = NULL;
    numbers = 0;
    ekg_slots_ = NULL;
    pthread_setspecific(end_key, NULL);
    while (record != NULL) {
        struct record *next = record->next;
        if (record != mine)
            sys_free(record, RECORD_BYTES);
        record = next;
    }
}
