#define _GNU_SOURCE
#include "cfi_table.h"

#include <string.h>

#include "sys.h"

bool cfi_add_row(struct cfi_table *table, const struct cfi_row *row)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity > 0 ? 2 * table->capacity : 4096;
        struct cfi_row *rows = sys_alloc(capacity * sizeof *rows);
        if (rows == NULL)
            return false;
        if (table->count > 0)
            memcpy(rows, table->rows, table->count * sizeof *rows);
        sys_free(table->rows, table->capacity * sizeof *rows);
        table->rows = rows;
        table->capacity = capacity;
    }
    struct cfi_row *last = table->count > 0 ? &table->rows[table->count - 1] : NULL;
    if (last != NULL && last->pc == row->pc) {
        *last = *row;
        return true;
    }
    /* A function that starts like its neighbour ended needs no row of its own. */
    if (last != NULL && memcmp(&last->cfa_offset, &row->cfa_offset, sizeof *row - sizeof row->pc) == 0)
        return true;
    table->rows[table->count++] = *row;
    return true;
}

void cfi_build_index(struct cfi_table *table)
{
    size_t count = ((table->high - table->low) >> CFI_INDEX_SHIFT) + 1;
    table->index = sys_alloc(count * sizeof *table->index);
    if (table->index == NULL)
        return;
    table->index_count = count;
    size_t row = 0;
    for (size_t i = 0; i < count; i++) {
        while (row + 1 < table->count && table->rows[row + 1].pc <= i << CFI_INDEX_SHIFT)
            row++;
        table->index[i] = (uint32_t)row;
    }
}

void cfi_free(struct cfi_table *table)
{
    sys_free(table->rows, table->capacity * sizeof *table->rows);
    sys_free(table->index, table->index_count * sizeof *table->index);
    *table = (struct cfi_table){.low = table->low, .high = table->high};
}

const struct cfi_row *cfi_find(const struct cfi_table *table, uint64_t address)
{
    if (address < table->low || address >= table->high || table->index == NULL)
        return NULL;
    uint64_t pc = address - table->low;
    size_t low = table->index[pc >> CFI_INDEX_SHIFT];
    size_t next = (pc >> CFI_INDEX_SHIFT) + 1;
    size_t high = next < table->index_count ? table->index[next] : table->count - 1;
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (table->rows[middle].pc <= pc)
            low = middle;
        else
            high = middle - 1;
    }
    const struct cfi_row *row = &table->rows[low];
    return row->pc <= pc ? row : NULL;
}
