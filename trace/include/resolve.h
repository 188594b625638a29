/* Entry points of the library: every MPI function, as MPI_* and PMPI_*, and the Fortran bindings of the traced ones
 * (entry_*.S). A call's target depends on the calling object: a plug-in may have loaded an MPI that is visible to it
 * alone, and another plug-in another MPI. */
#ifndef TRACE_RESOLVE_H
#define TRACE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* The names that this library defines, and their numbers. Traced functions have five names each: MPI_*, PMPI_*, and the
 * Fortran symbols mpi_*_, mpi_*_f08_ and mpi_*_f08ts_; other functions have two. */
#define KINDS_OF_NAMES 5
#define TRACED_NAMES (KINDS_OF_NAMES * FUNCTION_COUNT)

enum name_number {
    LAST_TRACED = TRACED_NAMES - 1,
#define OTHER(name) NAME_MPI_##name, NAME_PMPI_##name,
#include "other_calls.h"
    NAME_COUNT
};

/* The code at each name (entry_*.S), and in its second half the resolver for the loader (name_visibility.c). */
#define ENTRY_POINT_BYTES 32u
extern char trace_entry_points[NAME_COUNT][ENTRY_POINT_BYTES] __attribute__((visibility("hidden")));

/* Thread-safe and async-signal-safe. */
const char *name_of(uint32_t number);

/* The meaning of a name in the calling object: the definition that the loader would find for it without this library.
 * Thread-safe; not async-signal-safe (the loader's locks). */
struct scope {
    uint64_t low, size; /* code with this scope: a segment of an object, or a page of code without an object */
    void *object;       /* the loader's handle; NULL: the program, or no object */
};

void scope_enter(struct scope *scope, const void *return_address);

/* Return a function, or NULL if no loaded object defines the name. It is searched in the program's initial objects, in
 * the objects visible to this object, in the globally visible ones, and then in all objects, because a tail call to MPI
 * hides the calling function's frame, and underlinked libraries rely on others. */
void *scope_find(const struct scope *scope, const char *name);

void scope_leave(struct scope *scope);

/* The target of calls from `size` bytes at `low`. entry_*.S depends on its layout. */
struct resolution {
    uint64_t low;
    uint64_t size; /* 0: disabled; atomic */
    void *target;
    struct resolution *below; /* the next of the same name */
};

/* The known resolutions of each name. */
extern struct resolution *trace_resolutions[NAME_COUNT] __attribute__((visibility("hidden")));

/* Return the target of the first call from `return_address`. Thread-safe; not async-signal-safe. */
void *trace_resolve(uint32_t name, const void *return_address) __attribute__((visibility("hidden")));

/* Disable all resolutions after an unload, because their callers or targets may be gone. Thread-safe. */
void resolve_forget(void);

/* The traced MPI: that of the program's first MPI call. The MPI-specific part of the tracer is loaded at that time, so
 * that programs which load their MPI late, such as Python, are traced too. Calls of another MPI in the same process go
 * to that MPI, untraced.
 *
 * Thread-safe; not async-signal-safe. */

/* Return the target of a call from this scope that would go to `real` without this library. `entry`: as in struct
 * wrappers. */
void *mpi_library_wrap(const struct scope *scope, uint32_t entry, void *real);

/* Unload the MPI-specific part after MPI_Finalize, when no thread is in it, and release the MPI, so that the object
 * that has loaded it can close it. If it is loaded again, its calls are not traced. */
void mpi_library_let_go(void);

/* Fallback for a program that has found this library's names but has no MPI: an error, and never a crash. */

/* Return the target of such a call; the first one prints a line on stderr. Thread-safe. */
void *no_mpi(const char *name);

/* The position of an MPI call in the program. Thread-safe; not async-signal-safe (the loader's lock, once per
 * thread). */

/* Address of this thread's last call from Fortran, or 0. Written by the entry points (entry_*.S). */
extern _Thread_local uint64_t trace_fortran_site __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Return an address within the call instruction; within the program's call if the caller is a Fortran binding. */
uint64_t site_of_call(const void *return_address);

/* Loading and unloading of libraries, which may invalidate cached addresses and missing symbols. */

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

/* The same, except definitions at the address `excluded`. */
void *elf_symbol_other_than(const char *name, const void *excluded);

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
