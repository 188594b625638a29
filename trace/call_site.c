/* Thread safety: all state is per thread. */
#define _GNU_SOURCE
#include "resolve.h"

#include <link.h>
#include <stdbool.h>

#include "loader.h"

_Thread_local uint64_t trace_fortran_site;

/* The code ranges of Fortran bindings found so far. */
struct range {
    uint64_t inside, low, high;
};
static _Thread_local struct range bindings;
static _Thread_local uint32_t bindings_unloads; /* number of unloads for which they are valid */

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct range *range = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || range->inside < start || range->inside - start >= segment->p_memsz)
            continue;
        range->low = start;
        range->high = start + segment->p_memsz;
        return 1;
    }
    return 0;
}

static bool lies_in(const struct range *range, uint64_t address)
{
    return address >= range->low && address < range->high;
}

/* Return whether the caller is a Fortran binding. Otherwise the Fortran site is stale: an earlier binding may not have
 * called MPI. */
static bool is_binding(uint64_t caller, uint64_t site)
{
    if (lies_in(&bindings, caller) && bindings_unloads == loader_unloads())
        return true;
    struct range found = {.inside = caller};
    dl_iterate_phdr(look_at, &found);
    if (lies_in(&found, site))
        return false;
    bindings = found;
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
