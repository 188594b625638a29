/* Call frame information, compiled: .eh_frame becomes one sorted table of fixed-size rules per module.
 *
 * It is built outside the signal handler, from the file, with every read checked; what the tables cannot express
 * becomes CFA_NONE. The handler then needs no parser, and wrong tables lead to wrong addresses that the stack
 * bounds refuse, never to a fault. Reference: DWARF 5 section 6.4, and the LSB's .eh_frame_hdr.
 */
#ifndef INCPROF_CFI_H
#define INCPROF_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi_table.h"
#include "elf_file.h"

/* Compiles the rules for [low, high). Async-signal-safe, not thread-safe per table. An object without .eh_frame gives
 * an empty table. `go_too`: Go's own table is asked where there are no rules; within a Go program nothing is sampled.
 */
void cfi_build(struct cfi_table *table, const struct elf_file *elf, uint64_t low, uint64_t high, bool go_too);

#endif
