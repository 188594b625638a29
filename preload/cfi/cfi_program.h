/* The instructions of a CIE/FDE pair, run up to one address. For cfi_table.c alone. Async-signal-safe and thread-safe.
 */
#ifndef INCPROF_CFI_PROGRAM_H
#define INCPROF_CFI_PROGRAM_H

#include "cfi_record.h"
#include "cfi_row.h"

/* The rule that holds at an address of the function's. `origin`: what the row's addresses count from. */
struct cfi_row cfi_run(struct cfi_reader *reader, const struct cfi_function *function, uint64_t address,
                       uint64_t origin);

#endif
