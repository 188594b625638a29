/* Since 4.2 MPICH reports a process's regular end to its launcher in an exit handler; without that report the launcher
 * kills the other processes. Thread safety: both are atomic, written by the thread that registers a handler. */
#define _GNU_SOURCE
#include "session.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "event.h"
#include "resolve.h"

typedef int registration(void (*handler)(void *), void *argument, void *library);

TRACE_API registration __cxa_atexit;
void __cxa_finalize(void *library);

static bool is_watching;
static void *mpi_library; /* NULL: it has registered nothing */

void mpi_exit_watch(void)
{
    __atomic_store_n(&is_watching, true, __ATOMIC_RELAXED);
}

static bool is_mpi(void *library)
{
    Dl_info of_mpi, of_library;
    void *finalize = elf_symbol_anywhere("PMPI_Finalize");
    return finalize != NULL && dladdr(finalize, &of_mpi) != 0 && dladdr(library, &of_library) != 0 &&
           of_mpi.dli_fbase == of_library.dli_fbase;
}

/* Called by atexit and by C++ constructors. libc records each handler with the library that has registered it. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
    static registration *next;
    registration *function = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = (registration *)dlsym(RTLD_NEXT, "__cxa_atexit");
        __atomic_store_n(&next, function, __ATOMIC_RELAXED);
    }
    if (library != NULL && __atomic_load_n(&is_watching, __ATOMIC_RELAXED) && is_mpi(library))
        __atomic_store_n(&mpi_library, library, __ATOMIC_RELAXED);
    return function(handler, argument, library);
}

void mpi_exit_run(void)
{
    void *library = __atomic_load_n(&mpi_library, __ATOMIC_RELAXED);
    if (library != NULL)
        __cxa_finalize(library);
}
