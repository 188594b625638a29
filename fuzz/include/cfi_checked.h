/* What holds of every table that cfi_build makes, whatever it was made of. */
#ifndef FUZZ_CFI_CHECKED_H
#define FUZZ_CFI_CHECKED_H

#include "cfi.h"
#include "drawn.h"

/* The row that holds at an address is the last one that begins at or before it. */
static inline void check_found(const struct cfi_table *table, size_t number, uint64_t offset)
{
    const struct cfi_row *row = cfi_find(table, table->low + offset);
    if (offset < table->high - table->low)
        DEMAND(row == &table->rows[number]);
}

static inline void check_table(const struct cfi_table *table)
{
    if (table->index == NULL) {
        DEMAND(table->count == 0 && cfi_find(table, table->low) == NULL);
        return;
    }
    DEMAND(table->count > 0 && table->count <= table->capacity);
    uint64_t size = table->high - table->low;
    for (size_t i = 0; i < table->count; i++) {
        const struct cfi_row *row = &table->rows[i];
        DEMAND(row->pc <= size && row->cfa <= CFA_SIGNAL && row->fp <= FP_AT_SP && row->reg < 16);
        DEMAND(i == 0 || table->rows[i - 1].pc < row->pc);
        check_found(table, i, row->pc);
        if (i > 0)
            check_found(table, i - 1, row->pc - 1);
    }
    if (table->rows[table->count - 1].pc < size)
        check_found(table, table->count - 1, size - 1);
    DEMAND(cfi_find(table, table->high) == NULL && cfi_find(table, table->low - 1) == NULL);
}

#endif
