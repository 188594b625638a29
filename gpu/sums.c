/* Thread safety: under gpu_lock. Memory from mmap, which works in the interval thread. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define FIRST_CAPACITY 4096u
#define MOST_CAPACITY (1u << 18)

struct sum {
    struct sum_key key;
    uint64_t count, ns, bytes;
};

static struct sum *sums;
static uint32_t capacity, used;

static struct sum *place_of(struct sum *table, uint32_t size, const struct sum_key *key)
{
    uint32_t at = sum_key_hash(key) & (size - 1);
    while (table[at].count != 0 && !sum_key_is_same(&table[at].key, key))
        at = (at + 1) & (size - 1);
    return &table[at];
}

static bool grow(void)
{
    uint32_t larger = capacity > 0 ? 2 * capacity : FIRST_CAPACITY;
    struct sum *table = larger <= MOST_CAPACITY ? sys_alloc(larger * sizeof *table) : NULL;
    if (table == NULL)
        return false;
    for (uint32_t i = 0; i < capacity; i++)
        if (sums[i].count != 0)
            *place_of(table, larger, &sums[i].key) = sums[i];
    sys_free(sums, capacity * sizeof *sums);
    sums = table;
    capacity = larger;
    return true;
}

void sums_add(const struct sum_key *key, uint64_t count, uint64_t ns, uint64_t bytes)
{
    if (2 * (used + 1) > capacity && !grow() && used + 1 >= capacity) {
        gpu_count(&gpu_totals.lost, count);
        return;
    }
    struct sum *sum = place_of(sums, capacity, key);
    if (sum->count == 0) {
        sum->key = *key;
        used++;
    }
    sum->count += count;
    sum->ns += ns;
    sum->bytes += bytes;
}

static void put_sum(struct buffer *row, const struct sum *sum, uint64_t first_slot)
{
    const struct sum_key *key = &sum->key;
    buffer_varint(row, key->slot > first_slot ? key->slot - first_slot : 0);
    buffer_varint(row, key->device);
    buffer_varint(row, key->what);
    buffer_varint(row, node_number(key->node));
    buffer_varint(row, sum->count);
    buffer_varint(row, sum->ns);
    buffer_varint(row, sum->bytes);
}

bool sums_any(void)
{
    return used > 0;
}

void sums_put(struct buffer *out, uint64_t run_start_ns)
{
    struct buffer rows = {0};
    for (unsigned kind = 0; kind < SUM_KINDS && used > 0; kind++) {
        rows.length = 0;
        for (uint32_t i = 0; i < capacity; i++)
            if (sums[i].count != 0 && sums[i].key.kind == kind)
                put_sum(&rows, &sums[i], run_start_ns / SLOT_NS);
        buffer_record(out, FIRST_SUM_RECORD + kind, &rows);
    }
    buffer_free(&rows);
    if (used > 0)
        memset(sums, 0, capacity * sizeof *sums);
    used = 0;
}
