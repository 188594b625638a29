#define _GNU_SOURCE
#include "cfi.h"

#include "lookup.h"
#include "sys.h"

/* Limit of the record bytes read for one address. The largest record in 5 000 of Debian's objects has 28 112. */
#define MOST_BYTES ((uint64_t)1 << 16)

void cfi_free(struct cfi_table *table)
{
    if (table->copy != NULL)
        sys_free(table->copy, table->size + 1);
    if (table->list != NULL)
        sys_free(table->list, table->list_bytes);
    go_table_close(&table->go);
    *table = (struct cfi_table){.low = table->low, .high = table->high};
}

static uint64_t low_of(const struct cfi_table *table, size_t number)
{
    return table->origin + (uint64_t)(int64_t)table->entries[number].low;
}

/* Return the number of functions that begin at or before the address. */
static size_t count_up_to(const struct cfi_table *table, uint64_t address)
{
    return COUNT_LEADING(table->count, at, low_of(table, at) <= address);
}

/* Find the record of the function that contains the address. If several begin at one address, all but one are empty. */
static bool find_function(const struct cfi_table *table, size_t next, uint64_t address, struct cfi_reader *reader,
                          struct cfi_function *function, uint64_t *previous_end)
{
    for (size_t i = next; i > 0 && low_of(table, i - 1) == low_of(table, next - 1) && reader->budget > 0; i--) {
        uint64_t at = table->origin + (uint64_t)(int64_t)table->entries[i - 1].record - table->address;
        if (!cfi_read_function(reader, at, function) || function->low < table->low || function->high > table->high)
            continue;
        if (address >= function->low && address < function->high)
            return true;
        if (function->high > *previous_end && function->high <= address)
            *previous_end = function->high;
    }
    return false;
}

/* Return the rule for an address without a record: none, or Go's. */
static struct cfi_row find_in_gap(const struct cfi_table *table, uint64_t address, uint64_t low, uint64_t high)
{
    struct cfi_row gap = {.pc = (uint32_t)(low - table->low), .end = (uint32_t)(high - table->low), .cfa = CFA_NONE};
    if (!go_table_has(&table->go))
        return gap;
    struct cfi_row row = go_table_rule(&table->go, address, table->low);
    row.pc = row.pc > gap.pc ? row.pc : gap.pc;
    row.end = row.end < gap.end ? row.end : gap.end;
    return row;
}

struct cfi_row cfi_find(const struct cfi_table *table, uint64_t address)
{
    if (address < table->low || address >= table->high)
        return (struct cfi_row){.cfa = CFA_NONE};
    struct cfi_reader reader = {
        .data = table->frames, .size = table->size, .address = table->address, .budget = MOST_BYTES};
    struct cfi_function function;
    uint64_t previous_end = table->low;
    size_t next = count_up_to(table, address);
    if (find_function(table, next, address, &reader, &function, &previous_end))
        return cfi_run(&reader, &function, address, table->low);
    uint64_t next_low = next < table->count ? low_of(table, next) : table->high;
    return find_in_gap(table, address, previous_end, next_low < table->high ? next_low : table->high);
}
