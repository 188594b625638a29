/* What holds of every rule that cfi_find finds, whatever the table was made of. */
#ifndef FUZZ_CFI_CHECKED_H
#define FUZZ_CFI_CHECKED_H

#include "cfi.h"
#include "drawn.h"

#define MOST_STEPS 256

/* It says itself where it holds, and the place that was asked for is in there. */
static inline uint32_t check_rule(const struct cfi_table *table, uint64_t offset)
{
    const struct cfi_row row = cfi_find(table, table->low + offset);
    DEMAND(row.pc <= offset && offset < row.end && row.end <= table->high - table->low);
    DEMAND(row.cfa <= CFA_SIGNAL && row.fp <= FP_AT_SP && row.reg < 16);
    return row.end;
}

static inline void check_table(const struct cfi_table *table)
{
    uint64_t size = table->high - table->low;
    DEMAND(cfi_find(table, table->high).cfa == CFA_NONE && cfi_find(table, table->low - 1).cfa == CFA_NONE);
    if (table->high <= table->low || size > UINT32_MAX)
        return;
    check_rule(table, size - 1);
    uint64_t offset = 0;
    for (int steps = 0; steps < MOST_STEPS && offset < size; steps++)
        offset = check_rule(table, offset);
}

#endif
