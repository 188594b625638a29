#define _GNU_SOURCE
#include "table.h"

#include <string.h>

#include "sys.h"

#define FIRST_CAPACITY 1024 /* a power of two, like all later ones */

static uint64_t hash_of(const void *key, size_t size)
{
    uint64_t hash = 0;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)key + at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Keys are whole words, as for the hash. */
static bool is_equal(const void *one, const void *other, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t words[2];
        memcpy(&words[0], (const uint8_t *)one + at, 8);
        memcpy(&words[1], (const uint8_t *)other + at, 8);
        if (words[0] != words[1])
            return false;
    }
    return true;
}

/* Return the slot of the key, or the free one for it. */
static uint32_t *find_slot(const struct table *table, const void *key)
{
    size_t mask = 2 * table->capacity - 1;
    for (size_t i = hash_of(key, table->key_size) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &table->slots[i];
        if (*slot == 0 || is_equal(table_record(table, *slot - 1), key, table->key_size))
            return slot;
    }
}

static bool grow(struct table *table)
{
    struct table larger = *table;
    larger.capacity = table->capacity > 0 ? 2 * table->capacity : FIRST_CAPACITY;
    larger.records = sys_alloc(larger.capacity * larger.record_size);
    larger.slots = sys_alloc(2 * larger.capacity * sizeof *larger.slots);
    if (larger.records == NULL || larger.slots == NULL || larger.capacity > UINT32_MAX / 4) {
        table_free(&larger);
        return false;
    }
    for (size_t i = 0; i < table->count; i++) {
        memcpy(table_record(&larger, i), table_record(table, i), table->record_size);
        *find_slot(&larger, table_record(&larger, i)) = (uint32_t)(i + 1);
    }
    table_free(table);
    *table = larger;
    return true;
}

void *table_find(const struct table *table, const void *key)
{
    uint32_t slot = table->capacity > 0 ? *find_slot(table, key) : 0;
    return slot != 0 ? table_record(table, slot - 1) : NULL;
}

void *table_add(struct table *table, const void *key, bool *added)
{
    if (added != NULL)
        *added = false;
    uint32_t *slot = table->capacity > 0 ? find_slot(table, key) : NULL;
    if (slot != NULL && *slot != 0)
        return table_record(table, *slot - 1);
    if (table->count == table->capacity) {
        if (!grow(table))
            return NULL;
        slot = find_slot(table, key);
    }
    void *record = table_record(table, table->count);
    memset(record, 0, table->record_size);
    memcpy(record, key, table->key_size);
    *slot = (uint32_t)++table->count;
    if (added != NULL)
        *added = true;
    return record;
}

void table_clear(struct table *table)
{
    if (table->count == 0)
        return;
    memset(table->slots, 0, 2 * table->capacity * sizeof *table->slots);
    table->count = 0;
}

void table_free(struct table *table)
{
    sys_free(table->records, table->capacity * table->record_size);
    sys_free(table->slots, 2 * table->capacity * sizeof *table->slots);
    table->records = NULL;
    table->slots = NULL;
    table->count = table->capacity = 0;
}
