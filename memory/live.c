/* Thread safety: `keys` are atomic, and an address in them is its owner's; the slot's other fields belong to who has
 * put the address in, or taken it out. A freed slot belongs to the interval thread once it is in the list `freed`
 * (push: compare and swap; the interval thread takes the whole list). */
#define _GNU_SOURCE
#include "live.h"

#include "sys.h"

#define BUCKETS ((uint32_t)1 << 15)
#define BUCKET_SLOTS 8
#define SLOTS (BUCKETS * BUCKET_SLOTS)

/* Keys that are no addresses: a slot that is free, one of a freed block, and one taken out for a moment. */
enum { KEY_NONE, KEY_FREED, KEY_TAKEN };

_Alignas(65536) uint16_t live_pages[LIVE_PAGES];

static struct table {
    uintptr_t keys[SLOTS];
    struct slot {
        uint64_t id, freed_ns;
        uintptr_t address;
        uint32_t next;
    } slots[SLOTS];
} *table;

static uint32_t freed = LIVE_NONE; /* the newest */
static uint64_t count;

static uint32_t bucket_of(uintptr_t address, int choice)
{
    uint64_t hash = (address >> 4) * (choice == 0 ? 0x9e3779b97f4a7c15u : 0xc2b2ae3d27d4eb4fu);
    return (uint32_t)(hash >> 49) * BUCKET_SLOTS;
}

static struct slot *slot_at(uint32_t slot)
{
    return &table->slots[slot];
}

static void count_page(uintptr_t address, int more)
{
    __atomic_fetch_add(live_page(address), (uint16_t)more, __ATOMIC_RELAXED);
}

void live_mark(const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096)
        count_page((uintptr_t)from + at, 1);
}

static uint32_t free_slots(uint32_t bucket)
{
    uint32_t free = 0;
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
        free += __atomic_load_n(&table->keys[bucket + i], __ATOMIC_RELAXED) == KEY_NONE;
    return free;
}

/* The id is stored before the address: a free on another thread follows by the program's own order. */
uint32_t live_add(const void *block, uint64_t id)
{
    uintptr_t address = (uintptr_t)block;
    uint32_t first = bucket_of(address, 0), second = bucket_of(address, 1);
    uint32_t bucket = free_slots(second) > free_slots(first) ? second : first;
    for (uint32_t slot = bucket; slot < bucket + BUCKET_SLOTS; slot++) {
        uintptr_t none = KEY_NONE;
        if (!__atomic_compare_exchange_n(&table->keys[slot], &none, KEY_TAKEN, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        slot_at(slot)->id = id;
        slot_at(slot)->address = address;
        count_page(address, 1);
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&table->keys[slot], address, __ATOMIC_RELEASE);
        return slot;
    }
    return LIVE_NONE;
}

static void forget(uint32_t slot)
{
    count_page(slot_at(slot)->address, -1);
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
}

void live_drop(uint32_t slot)
{
    forget(slot);
    __atomic_store_n(&table->keys[slot], KEY_NONE, __ATOMIC_RELEASE);
}

uint32_t live_take(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    for (int choice = 0; table != NULL && address > KEY_TAKEN && choice < 2; choice++) {
        uint32_t bucket = bucket_of(address, choice);
        for (uint32_t slot = bucket; slot < bucket + BUCKET_SLOTS; slot++) {
            uintptr_t key = address;
            if (__atomic_load_n(&table->keys[slot], __ATOMIC_RELAXED) == address &&
                __atomic_compare_exchange_n(&table->keys[slot], &key, KEY_TAKEN, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return slot;
        }
    }
    return LIVE_NONE;
}

void live_put_back(uint32_t slot, const void *block)
{
    __atomic_store_n(&table->keys[slot], (uintptr_t)block, __ATOMIC_RELEASE);
}

uint64_t live_id(uint32_t slot)
{
    return slot_at(slot)->id;
}

void live_freed(uint32_t slot)
{
    forget(slot);
    slot_at(slot)->freed_ns = monotonic_ns();
    __atomic_store_n(&table->keys[slot], KEY_FREED, __ATOMIC_RELAXED);
    slot_at(slot)->next = __atomic_load_n(&freed, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&freed, &slot_at(slot)->next, slot, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void live_each_freed(void (*use)(uint64_t id, uint64_t time_ns))
{
    uint32_t slot = __atomic_exchange_n(&freed, LIVE_NONE, __ATOMIC_ACQUIRE);
    while (slot != LIVE_NONE) {
        uint32_t next = slot_at(slot)->next;
        use(slot_at(slot)->id, slot_at(slot)->freed_ns);
        __atomic_store_n(&table->keys[slot], KEY_NONE, __ATOMIC_RELEASE);
        slot = next;
    }
}

uint64_t live_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

/* Pages that were never written cost nothing. */
bool live_begin(void)
{
    freed = LIVE_NONE;
    count = 0;
    if (table == NULL)
        return (table = sys_alloc_untouched(sizeof *table)) != NULL;
    SYS3(SYS_madvise, live_pages, sizeof live_pages, MADV_DONTNEED);
    return SYS3(SYS_madvise, table, sizeof *table, MADV_DONTNEED) == 0;
}
