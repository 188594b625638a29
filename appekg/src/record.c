#define _GNU_SOURCE
#include "record.h"

#include <pthread.h>

#include "catalogue.h"
#include "lock.h"
#include "sys.h"

#define MAP_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

__thread struct ekg_slot_ *ekg_slots_ __attribute__((tls_model("initial-exec")));

static struct record *newest; /* a list that only grows, by as many as there are threads in one interval */
static struct record *free_records;
static struct lock free_lock;
static uint32_t numbers;
static pthread_key_t end_key;
static bool has_key;

/* Runs in each thread that ends. The interval thread takes what is left. */
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

static struct record *new_record(void)
{
    long at = SYS6(SYS_mmap, 0, RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_FLAGS, -1, 0);
    if (at < 0 && at > -4096)
        return NULL;
    struct record *record = (struct record *)at;
    SYS3(SYS_madvise, record, RECORD_BYTES, MADV_NOHUGEPAGE); /* most of it is never touched */
    return record;
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
    __atomic_store_n(&record->number, __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    __atomic_store_n(&record->state, RECORD_LIVE, __ATOMIC_RELEASE);
    if (fresh)
        publish(record);
    return record;
}

/* No handler comes in between: it would have a record made for the same thread. */
struct record *record_mine(void)
{
    if (ekg_slots_ != NULL)
        return record_of(ekg_slots_);
    uint64_t mask = signals_block();
    struct record *record = any_record();
    if (record != NULL) {
        ekg_slots_ = (struct ekg_slot_ *)record_slots(record);
        pthread_setspecific(end_key, ekg_slots_);
    }
    signals_restore(mask);
    return record;
}

/* Where the id is, or the free slot where it would be, or NULL in a full record. Ids below EKG_SLOTS_ do not collide
 * with each other. */
static struct slot *place_of(struct record *record, uint32_t id)
{
    struct slot *slots = record_slots(record);
    for (uint32_t step = 0; step < EKG_SLOTS_; step++) {
        struct slot *slot = &slots[(id + step) % EKG_SLOTS_];
        if (__atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) == 0 || slot->id == id)
            return slot;
    }
    return NULL;
}

struct slot *record_find(struct record *record, uint32_t id)
{
    struct slot *slot = place_of(record, id);
    return slot != NULL && __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) != 0 ? slot : NULL;
}

struct slot *record_claim(struct record *record, uint32_t id, uint32_t generation)
{
    struct slot *slot = place_of(record, id);
    if (slot == NULL || slot->generation != 0)
        return slot;
    uint64_t mask = signals_block(); /* a handler may want a slot as well */
    slot = place_of(record, id);
    if (slot != NULL && slot->generation == 0) {
        slot->id = id;
        record->touched[record->touched_count] = (uint16_t)(slot - record_slots(record));
        __atomic_store_n(&slot->generation, generation, __ATOMIC_RELEASE);
        __atomic_store_n(&record->touched_count, record->touched_count + 1, __ATOMIC_RELEASE);
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* against ekg_rate: one of us sees the other */
        __atomic_store_n(&slot->skip, catalogue_factor(id) - 1, __ATOMIC_RELAXED);
    }
    signals_restore(mask);
    return slot;
}

static void set_deep_busy(struct record *record, bool busy)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&record->deep_busy, busy, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A handler in the middle of another change goes without. */
uint32_t record_take_deep(struct record *record)
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

/* There is less room for the rest of the thread's life when a handler must not touch the list. */
void record_give_deep(struct record *record, uint32_t number)
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
        record_give_deep(record, number);
    }
    slot->untimed = 0;
    ekg_skip_((struct ekg_slot_ *)slot, 0);
    __atomic_store_n(&slot->depth, 0, __ATOMIC_RELEASE);
}

void record_recycle(struct record *record)
{
    for (uint32_t i = 0; i < record->touched_count; i++)
        record_slots(record)[record->touched[i]] = (struct slot){.key = 0};
    SYS3(SYS_madvise, record_deep(record), DEEP_STARTS * sizeof(struct deep_start), MADV_DONTNEED);
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

/* The calling thread's own stays where it is: a handler that forks may return to a beat that it has interrupted. */
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
