/* Call frame information: what an object's file says of its frames, copied once, and searched by address.
 *
 * The copy is made outside the signal handler, from the file; the records of a function are run when somebody asks for
 * one of its addresses (cfi_table.h), with every read checked. What rules cannot express becomes CFA_NONE, and wrong
 * records lead to wrong addresses that the stack bounds refuse, never to a fault. Reference: DWARF 5 section 6.4, and
 * the LSB's .eh_frame_hdr.
 */
#ifndef INCPROF_CFI_H
#define INCPROF_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi_table.h"
#include "elf_file.h"

/* Copies what tells of [low, high). Async-signal-safe, not thread-safe per table. An object without .eh_frame gives an
 * empty table. `go_too`: Go's own table is asked where there are no rules; within a Go program nothing is sampled. */
void cfi_open(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high, bool go_too);

#endif
