/* What is in an object that a process has mapped: whose code it is, where it lies, how its frames are left. */
#ifndef INCPROF_MODULE_LOOK_H
#define INCPROF_MODULE_LOOK_H

#include "maps_line.h"
#include "modules.h"

/* The module of the mapping: a known one, or a new one that is not among `code`'s modules yet, the caller's to append
 * or to free. base: what was added to its link-time addresses here. NULL: no object that could be read.
 * Async-signal-safe. */
struct module *module_look(struct code *code, const struct mapping *mapping, uint64_t *base, bool *is_new);

#endif
