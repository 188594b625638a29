/* Functions by name, in whatever is loaded, whoever sees it. Nothing is asked of the loader but its list of objects.
 * Thread-safe; not async-signal-safe (the loader's lock). */
#ifndef TRACE_ELF_SYMBOL_H
#define TRACE_ELF_SYMBOL_H

#include <stdbool.h>

/* The first definition outside this library, in the order in which objects were loaded, or NULL. */
void *elf_symbol_anywhere(const char *name);

/* The same, of definitions at another address than `known`. */
void *elf_symbol_besides(const char *name, const void *known);

/* Whether an object outside this library has been linked with a name that is defined by no other. `is_ours`: which
 * names are meant. */
bool elf_symbol_is_missed(bool (*is_ours)(const char *name));

#endif
