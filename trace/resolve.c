/* Thread safety: lists of resolutions are pushed to by compare and swap, and nothing is ever removed; of an existing
 * one only `size` changes. So a traversal needs no lock. `missing` is written atomically by a thread that finds
 * nothing. No locks: MPI may be called while the loader holds its own. */
#define _GNU_SOURCE
#include "resolve.h"

#include <stdbool.h>

#include "sys.h"

_Static_assert(offsetof(struct resolution, size) == 8 && offsetof(struct resolution, target) == 16 &&
                   offsetof(struct resolution, below) == 24,
               "entry_*.S says so");

struct resolution *trace_resolutions[NAME_COUNT];

/* Re-enable an existing resolution. A library reloaded at the same address reuses its resolutions, so memory does not
 * grow. */
static bool open_again(uint32_t name, const struct scope *scope, const void *target)
{
    for (struct resolution *resolution = __atomic_load_n(&trace_resolutions[name], __ATOMIC_ACQUIRE);
         resolution != NULL; resolution = resolution->below)
        if (resolution->low == scope->low && resolution->target == target) {
            __atomic_store_n(&resolution->size, scope->size, __ATOMIC_RELEASE);
            return true;
        }
    return false;
}

static void keep(uint32_t name, const struct scope *scope, void *target)
{
    struct resolution *resolution = open_again(name, scope, target) ? NULL : sys_alloc(sizeof *resolution);
    if (resolution == NULL)
        return;
    *resolution = (struct resolution){.low = scope->low, .size = scope->size, .target = target};
    resolution->below = __atomic_load_n(&trace_resolutions[name], __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&trace_resolutions[name], &resolution->below, resolution, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

static void *find(uint32_t name, const void *return_address)
{
    struct scope scope;
    uint32_t before = loader_unloads();
    scope_enter(&scope, return_address);
    void *target = scope_find(&scope, name_of(name));
    if (target != NULL && name < TRACED_NAMES && name % KINDS_OF_NAMES < 2)
        target = mpi_library_wrap(&scope, 2 * (name / KINDS_OF_NAMES) + name % KINDS_OF_NAMES, target);
    if (target != NULL)
        keep(name, &scope, target);
    scope_leave(&scope);
    if (loader_unloads() != before)
        resolve_forget();
    return target;
}

/* A name that is undefined now may be defined once another library is loaded. */
void *trace_resolve(uint32_t name, const void *return_address)
{
    static unsigned long long missing[NAME_COUNT]; /* number of loaded libraries at the failed look-up */
    unsigned long long loads = loader_loads();
    void *target = missing[name] == loads ? NULL : find(name, return_address);
    if (target != NULL)
        return target;
    missing[name] = loads;
    return no_mpi(name_of(name));
}

void resolve_forget(void)
{
    for (uint32_t name = 0; name < NAME_COUNT; name++)
        for (struct resolution *resolution = __atomic_load_n(&trace_resolutions[name], __ATOMIC_ACQUIRE);
             resolution != NULL; resolution = resolution->below)
            __atomic_store_n(&resolution->size, 0, __ATOMIC_RELEASE);
}
