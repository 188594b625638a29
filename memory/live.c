/* Thread safety: `keys`, `places`, `is_used` and `has_far` are atomic; an entry's other fields belong to the thread
 * that has put its address in, or taken it out. A freed entry belongs to the interval thread once it is in the list
 * `freed` (push: compare and swap; the interval thread takes the whole list), which makes it usable again. */
#define _GNU_SOURCE
#include "live.h"

#include "sys.h"

#define NEAR_BUCKETS ((uint32_t)1 << 10)
#define FAR_BUCKETS ((uint32_t)1 << 15)
#define BUCKET_SLOTS 8
#define SLOTS (FAR_BUCKETS * BUCKET_SLOTS)

#define MOST_TRIES 16

/* Keys that are no addresses: none, and one that is being written. */
enum { KEY_NONE, KEY_TAKEN };

_Alignas(65536) uint16_t live_pages[LIVE_PAGES];

/* An address has a near bucket, and two others for when that one is full: a page of memory that is used for the first
 * time costs as much as the rest of an event, and few programs need more than the near ones. Entries are apart: the
 * same address is freed many times before an interval is written. */
static struct table {
    struct bucket {
        uintptr_t keys[BUCKET_SLOTS];
        uint32_t places[BUCKET_SLOTS]; /* the entries of the keys */
    } near[NEAR_BUCKETS], far[FAR_BUCKETS];
    uint8_t is_used[SLOTS]; /* of entries */
    struct entry {
        uint64_t id, freed_ns;
        uint32_t next;
    } entries[SLOTS];
} *table;

static uint32_t freed = LIVE_NONE; /* the newest */
static uint32_t next_entry;
static bool has_far; /* a near bucket has been full */
static uint64_t count;

static struct bucket *bucket_of(uintptr_t address, int choice)
{
    uint64_t hash = (address >> 4) * (choice < 2 ? 0x9e3779b97f4a7c15u : 0xc2b2ae3d27d4eb4fu);
    return choice == 0 ? &table->near[hash >> 32 & (NEAR_BUCKETS - 1)] : &table->far[hash >> 49];
}

/* Return how many buckets an address may be in. */
static int choices(void)
{
    return table == NULL ? 0 : __atomic_load_n(&has_far, __ATOMIC_RELAXED) ? 3 : 1;
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

static uint32_t free_slots(const struct bucket *bucket)
{
    uint32_t free = 0;
    for (uint32_t i = 0; i < BUCKET_SLOTS; i++)
        free += __atomic_load_n(&bucket->keys[i], __ATOMIC_RELAXED) == KEY_NONE;
    return free;
}

/* Return the bucket for a new address: the near one, else the emptier one of the others. */
static struct bucket *choose_bucket(uintptr_t address)
{
    struct bucket *near = bucket_of(address, 0);
    if (free_slots(near) > 0)
        return near;
    __atomic_store_n(&has_far, true, __ATOMIC_RELAXED);
    struct bucket *first = bucket_of(address, 1), *second = bucket_of(address, 2);
    return free_slots(second) > free_slots(first) ? second : first;
}

static uint32_t acquire_entry(void)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        uint32_t entry = __atomic_fetch_add(&next_entry, 1, __ATOMIC_RELAXED) % SLOTS;
        uint8_t unused = 0;
        if (__atomic_compare_exchange_n(&table->is_used[entry], &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return entry;
    }
    return LIVE_NONE;
}

static void release_entry(uint32_t entry)
{
    __atomic_store_n(&table->is_used[entry], 0, __ATOMIC_RELEASE);
}

/* The place is stored before the address: a free on another thread follows by the program's own order. */
bool live_put_back(uint32_t entry, const void *block)
{
    uintptr_t address = (uintptr_t)block;
    struct bucket *bucket = choose_bucket(address);
    for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
        uintptr_t none = KEY_NONE;
        if (!__atomic_compare_exchange_n(&bucket->keys[slot], &none, KEY_TAKEN, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&bucket->places[slot], entry, __ATOMIC_RELAXED);
        count_page(address, 1);
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&bucket->keys[slot], address, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

uint32_t live_add(const void *block, uint64_t id)
{
    uint32_t entry = acquire_entry();
    if (entry == LIVE_NONE)
        return LIVE_NONE;
    table->entries[entry].id = id;
    if (live_put_back(entry, block))
        return entry;
    release_entry(entry);
    return LIVE_NONE;
}

uint32_t live_take(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    for (int choice = 0; address > KEY_TAKEN && choice < choices(); choice++) {
        struct bucket *bucket = bucket_of(address, choice);
        for (uint32_t slot = 0; slot < BUCKET_SLOTS; slot++) {
            uintptr_t key = address;
            if (__atomic_load_n(&bucket->keys[slot], __ATOMIC_RELAXED) != address ||
                !__atomic_compare_exchange_n(&bucket->keys[slot], &key, KEY_TAKEN, false, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED))
                continue;
            uint32_t entry = __atomic_load_n(&bucket->places[slot], __ATOMIC_RELAXED);
            count_page(address, -1);
            __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&bucket->keys[slot], KEY_NONE, __ATOMIC_RELEASE);
            return entry;
        }
    }
    return LIVE_NONE;
}

void live_drop(const void *block)
{
    uint32_t entry = live_take(block);
    if (entry != LIVE_NONE)
        release_entry(entry);
}

uint64_t live_id(uint32_t entry)
{
    return table->entries[entry].id;
}

void live_freed(uint32_t entry)
{
    struct entry *one = &table->entries[entry];
    one->freed_ns = monotonic_ns();
    one->next = __atomic_load_n(&freed, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&freed, &one->next, entry, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void live_each_freed(void (*use)(uint64_t id, uint64_t time_ns))
{
    uint32_t entry = __atomic_exchange_n(&freed, LIVE_NONE, __ATOMIC_ACQUIRE);
    while (entry != LIVE_NONE) {
        uint32_t next = table->entries[entry].next;
        use(table->entries[entry].id, table->entries[entry].freed_ns);
        release_entry(entry);
        entry = next;
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
    has_far = false;
    if (table == NULL)
        return (table = sys_alloc_untouched(sizeof *table)) != NULL;
    SYS3(SYS_madvise, live_pages, sizeof live_pages, MADV_DONTNEED);
    return SYS3(SYS_madvise, table, sizeof *table, MADV_DONTNEED) == 0;
}
