/* Thread safety: all state is per thread. */
#define _GNU_SOURCE
#include "resolve.h"

#include <stdbool.h>

#include "loaded.h"

_Thread_local uint64_t trace_fortran_site;

/* The code of the Fortran binding that was found last, [low, high). */
struct range {
    uint64_t low, high;
};
static _Thread_local struct range bindings;
static _Thread_local uint32_t bindings_unloads; /* number of unloads for which it is valid */

static bool range_holds(const struct range *range, uint64_t address)
{
    return address >= range->low && address < range->high;
}

/* Return whether the caller is a Fortran binding. Otherwise the Fortran site is stale: an earlier binding may not have
 * called MPI. */
static bool is_binding(uint64_t caller, uint64_t site)
{
    if (range_holds(&bindings, caller) && bindings_unloads == loader_unloads())
        return true;
    struct object object = {0};
    object_at(caller, &object);
    struct range binding = {object.low, object.high};
    if (range_holds(&binding, site))
        return false;
    bindings = binding;
    bindings_unloads = loader_unloads();
    return true;
}

uint64_t site_of_call(const void *return_address)
{
    uint64_t caller = (uint64_t)(uintptr_t)return_address;
    uint64_t site = trace_fortran_site;
    trace_fortran_site = 0;
    return (site != 0 && is_binding(caller, site) ? site : caller) - 1; /* the call, not the instruction behind it */
}
