/* dlclose: what was recorded in a library is looked up while nothing else is where it was. dlopen is left alone: it
 * asks who has called it. Who may touch what: `known_loads` is atomic. No locks of ours; the loader's is recursive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "collector.h"
#include "modules.h"
#include "next.h"
#include "switch.h"

DECLARE_NEXT(dlclose);

/* Objects that the loader has loaded so far, and unloaded. */
struct loader {
    unsigned long long loads, unloads;
};

static unsigned long long known_loads;

static int take_counters(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    *(struct loader *)into = (struct loader){info->dlpi_adds, info->dlpi_subs};
    return 1; /* the first object says it */
}

static struct loader ask_loader(void)
{
    struct loader loader = {0, 0};
    dl_iterate_phdr(take_counters, &loader);
    return loader;
}

/* What is known of a map: objects that are there, and those of them that are loaded. */
struct known {
    const struct code_map *map;
    size_t ranges, loaded;
};

static int count_loaded(struct dl_phdr_info *info, size_t size, void *into)
{
    struct known *known = into;
    (void)size;
    for (size_t i = 0; i < known->map->count; i++)
        known->loaded += !known->map->ranges[i].module->jit && known->map->ranges[i].base == info->dlpi_addr;
    return 0;
}

/* Ranges of the map that show what is not loaded; what no loader has loaded, or one of another namespace, counts as
 * well. Negative: there is more than the map shows. */
static ptrdiff_t count_gone(const struct code_map *map)
{
    struct known known = {.map = map};
    for (size_t i = 0; i < map->count; i++)
        known.ranges += !map->ranges[i].module->jit;
    dl_iterate_phdr(count_loaded, &known);
    return (ptrdiff_t)known.ranges - (ptrdiff_t)known.loaded;
}

/* Where calls are counted, one may have come at the very end of a library. */
static bool counts_calls(const struct code_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        if (map->ranges[i].module->counts)
            return true;
    return false;
}

/* Most libraries that are closed have never been looked at: nothing is to be done then. */
static void forget_unloaded(bool is_all)
{
    const struct code_map *map = modules_enter();
    ptrdiff_t gone = is_all && map != NULL && !counts_calls(map) ? count_gone(map) : -1;
    modules_leave(map);
    if (gone != 0)
        collector_remap(gone > 0 ? (size_t)gone : 0);
}

/* Thread-safe, as dlclose is. A library that was loaded, used and is closed before any look is looked at now. */
EXPORT int dlclose(void *handle)
{
    if (!switch_is_on_here())
        return NEXT(dlclose)(handle);
    struct loader before = ask_loader();
    if (__atomic_exchange_n(&known_loads, before.loads, __ATOMIC_RELAXED) != before.loads)
        collector_look_up();
    int result = NEXT(dlclose)(handle);
    struct loader after = ask_loader();
    if (after.unloads != before.unloads)
        forget_unloaded(after.loads == before.loads);
    return result;
}
