/* The instructions of a CIE/FDE pair, run into table rows. For cfi.c alone. */
#ifndef INCPROF_CFI_PROGRAM_H
#define INCPROF_CFI_PROGRAM_H

#include "cfi_record.h"
#include "cfi_table.h"

bool cfi_run(struct cfi_table *table, struct cfi_reader *reader, const struct cfi_function *function);

#endif
