/* The instructions of a CIE/FDE pair, run into table rows. For cfi.c alone. */
#ifndef INCPROF_CFI_PROGRAM_H
#define INCPROF_CFI_PROGRAM_H

#include "cfi.h"
#include "cfi_record.h"

bool cfi_run(struct cfi_table *table, struct cfi_reader *reader, const struct cfi_function *function);

/* Appends a row (pc ascending), or replaces the last one at the same pc. False without memory. */
bool cfi_add_row(struct cfi_table *table, const struct cfi_row *row);

#endif
