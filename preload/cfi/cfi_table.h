/* Unwind rules by link-time address, worked out from an object's records of call frame information when somebody asks.
 *
 * What is read was copied from the file when the object was first seen, and never changes: cfi_find is
 * async-signal-safe and thread-safe.
 */
#ifndef INCPROF_CFI_TABLE_H
#define INCPROF_CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi_row.h"
#include "go_table.h"

/* A function and its record, as .eh_frame_hdr has them: distances from cfi_table.origin. */
struct cfi_entry {
    int32_t low;
    int32_t record;
};

struct cfi_table {
    uint64_t low, high; /* link-time addresses that the table is for */
    uint8_t *frames;    /* .eh_frame, or NULL */
    uint64_t size;
    uint64_t address;                /* of the first byte of frames */
    const struct cfi_entry *entries; /* in the order of addresses */
    size_t count;
    uint64_t origin;
    void *list; /* the memory that entries are in */
    size_t list_bytes;
    struct go_table go; /* Go's own, where it was asked for */
};

/* The rule that holds at a link-time address, and where else; CFA_NONE where there is none. Takes as many steps as the
 * function's record has instructions, and no more than some 65 000 however the records are. */
struct cfi_row cfi_find(const struct cfi_table *table, uint64_t address);

void cfi_free(struct cfi_table *table);

#endif
