/* One CIE/FDE pair of .eh_frame: decoding it, and running its instructions into table rows. For cfi.c alone. */
#ifndef INCPROF_CFI_PROGRAM_H
#define INCPROF_CFI_PROGRAM_H

#include "cfi.h"

/* Bounds-checked cursor over .eh_frame; `failed` once anything lay outside. */
struct cfi_reader {
    const uint8_t *data;
    uint64_t size;
    uint64_t address; /* link-time address of data[0] */
    uint64_t at;
    uint64_t end;
    bool failed;
};

struct cfi_function {
    uint64_t low;
    uint64_t high;
    uint64_t code_align;
    int64_t data_align;
    uint64_t common_at, common_end; /* the CIE's instructions */
    uint64_t own_at, own_end;       /* the FDE's instructions */
    uint8_t encoding;
    bool augmented;
    bool signal_frame;
};

bool cfi_read_function(struct cfi_reader *reader, uint64_t offset, struct cfi_function *function);
bool cfi_run(struct cfi_table *table, struct cfi_reader *reader, const struct cfi_function *function);

/* Appends a row (pc ascending), or replaces the last one at the same pc. False without memory. */
bool cfi_add_row(struct cfi_table *table, const struct cfi_row *row);

#endif
