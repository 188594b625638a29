/* A hash table of fixed-size records in the order in which they were added. A record starts with its key.
 *
 * Async-signal-safe (memory by mmap), not thread-safe. Records move when the table grows.
 */
#ifndef INCPROF_TABLE_H
#define INCPROF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    size_t record_size;
    size_t key_size; /* a multiple of 8 */
    size_t count;
    size_t capacity; /* records */
    uint8_t *records;
    uint32_t *slots; /* record number + 1; 0: free. 2 * capacity of them */
};

/* Find or add the record with this key; a new one is zeroed except for the key. `added` may be NULL. Returns NULL if
 * out of memory. */
void *table_add(struct table *table, const void *key, bool *added);

/* Return the record with this key, or NULL. */
void *table_find(const struct table *table, const void *key);

static inline void *table_record(const struct table *table, size_t number)
{
    return table->records + number * table->record_size;
}

/* Remove all records and keep the memory. */
void table_clear(struct table *table);
void table_free(struct table *table);

#endif
