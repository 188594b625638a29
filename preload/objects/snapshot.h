/* Copies of the symbols, so that a run can be read on a machine that lacks the program. */
#ifndef INCPROF_SNAPSHOT_H
#define INCPROF_SNAPSHOT_H

#include "modules.h"

/* symbols/<build-id>.elf in the run directory: an ELF file with the symbol sections of the module, and its debug
 * sections where they are not too large; the others have no contents. The first process of each node to come writes
 * it, unless it is there. Failure costs nothing but the copy. Async-signal-safe. */
void snapshot_write(const char *directory, const struct module *module);

#endif
