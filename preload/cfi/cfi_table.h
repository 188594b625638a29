/* Unwind rules by link-time address: one sorted table of fixed-size rows per module, which the signal handler can
 * search.
 *
 * A table is built by one thread and does not change once it is published: cfi_find is async-signal-safe and
 * thread-safe from then on. The rest is async-signal-safe and not thread-safe per table.
 */
#ifndef INCPROF_CFI_TABLE_H
#define INCPROF_CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* How the canonical frame address (the caller's stack pointer) is found. */
enum cfa_rule {
    CFA_NONE,     /* nothing is known: fall back on the frame pointer */
    CFA_END,      /* outermost frame: there is no caller */
    CFA_SP,       /* stack pointer + offset */
    CFA_FP,       /* frame pointer + offset */
    CFA_LEAF_REG, /* another register + offset: its value is known only in the interrupted frame */
    CFA_DEREF_FP, /* *(frame pointer + offset): realigned stacks */
    CFA_DEREF_SP, /* *(stack pointer + offset) */
    CFA_PLT,      /* x86-64: rsp + 8, plus 8 after the stub's push: where (pc & 15) >= offset */
    CFA_SIGNAL    /* a signal frame: registers are in the context at the stack pointer */
};

/* Where the caller's frame pointer is. */
enum fp_rule { FP_SAME, FP_AT_CFA, FP_AT_FP, FP_AT_SP };

struct cfi_row {
    uint32_t pc; /* offset from the table's low address; the row holds up to the next one */
    int32_t cfa_offset;
    int16_t fp_offset; /* in units of 8 bytes */
    uint8_t cfa : 4;
    uint8_t fp : 4;
    uint8_t reg; /* DWARF number, for CFA_LEAF_REG */
#if MACHINE_HAS_LINK_REGISTER
    int16_t ra_offset; /* of the return address from the CFA, in units of 8 bytes; 0: in the link register */
    uint16_t unused;
#endif
};

struct cfi_table {
    struct cfi_row *rows;
    size_t count;
    size_t capacity;
    uint32_t *index; /* index[i]: the last row with pc <= i << CFI_INDEX_SHIFT */
    size_t index_count;
    uint64_t low; /* link-time addresses that the table is for */
    uint64_t high;
};

#define CFI_INDEX_SHIFT 8

/* Appends a row (pc ascending), or replaces the last one at the same pc. False without memory. */
bool cfi_add_row(struct cfi_table *table, const struct cfi_row *row);

/* After the last row: what cfi_find starts from. Without memory the table stays without. */
void cfi_build_index(struct cfi_table *table);

void cfi_free(struct cfi_table *table);

/* The rule for a link-time address, or NULL. */
const struct cfi_row *cfi_find(const struct cfi_table *table, uint64_t address);

#endif
