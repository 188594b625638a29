/* Loading and unloading of libraries, which may invalidate cached addresses and missing symbols. */
#ifndef TRACE_LOADER_H
#define TRACE_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/* Return the number of unloads so far, without calling the loader. Thread-safe and async-signal-safe. */
uint32_t loader_unloads(void);

/* Return the number of libraries loaded so far. Thread-safe; not async-signal-safe. */
unsigned long long loader_loads(void);

/* Call the next dlclose. Thread-safe; not async-signal-safe. */
int loader_close(void *handle);

/* Look-up of functions by name in all loaded objects, regardless of scope. Only the loader's list of objects is used.
 * Thread-safe; not async-signal-safe (the loader's lock). */

/* Return the first definition outside this library, in load order, or NULL. */
void *elf_symbol_anywhere(const char *name);

/* The same, except definitions at the address `known`. */
void *elf_symbol_other_than(const char *name, const void *known);

/* Return whether an object outside this library has been linked with a name that no other object defines. `is_ours`:
 * selects the names. */
bool elf_symbol_is_missed(bool (*is_ours)(const char *name));

/* MPI functions that a program looks up in a library (dlopen, dlsym): it gets this library's entry point.
 *
 * Thread-safe; not async-signal-safe. */

/* The type of the next dlsym. */
typedef void *dlsym_function(void *handle, const char *name);
dlsym_function *looked_up_dlsym(void);

/* Return dlsym's result for a name that may be an MPI function's. */
void *looked_up(void *handle, const char *name);

/* Visibility of this library's names to the loader. If no other object defines them, a program that searches for an
 * MPI, or for a function of newer ones, must find none. A library loaded by dlopen may bring an MPI and be linked with
 * these names at once: during dlopen the loader queries each name.
 *
 * Thread-safe; not async-signal-safe. */

/* Run before the functions of that name, and return them. */
void *trace_before_dlopen(void) __attribute__((visibility("hidden")));
void *trace_before_dlsym(void *handle, const char *name, const char *return_address)
    __attribute__((visibility("hidden")));

/* Resolver called by the loader: return the target of the name, or NULL. */
void *trace_choose(uint32_t name) __attribute__((visibility("hidden")));

#endif
