/* dlclose: addresses recorded in a library are resolved before other code takes its place. dlopen is not wrapped,
 * because it depends on its caller's address. Thread safety: `last_loads` is atomic. No locks of ours; the loader's is
 * recursive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "collector.h"
#include "loaded.h"
#include "modules.h"
#include "next.h"
#include "switch.h"

DECLARE_NEXT(dlclose);

static unsigned long long last_loads;

/* Objects of a map: all, and those that are loaded. */
struct objects {
    const struct code_map *map;
    size_t ranges, loaded;
};

static int count_loaded(struct dl_phdr_info *info, size_t size, void *into)
{
    struct objects *objects = into;
    (void)size;
    for (size_t i = 0; i < objects->map->count; i++)
        objects->loaded += !objects->map->ranges[i].module->jit && objects->map->ranges[i].base == info->dlpi_addr;
    return 0;
}

/* Return the number of the map's ranges whose object is not loaded; includes objects loaded without the loader, or by
 * one of another namespace. Negative: there are objects that the map lacks. */
static ptrdiff_t count_unloaded(const struct code_map *map)
{
    struct objects objects = {.map = map};
    for (size_t i = 0; i < map->count; i++)
        objects.ranges += !map->ranges[i].module->jit;
    dl_iterate_phdr(count_loaded, &objects);
    return (ptrdiff_t)objects.ranges - (ptrdiff_t)objects.loaded;
}

/* Return whether calls are counted; then one may have occurred at the very end of a library's life. */
static bool counts_calls(const struct code_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        if (map->ranges[i].module->counts)
            return true;
    return false;
}

/* Most closed libraries have never been sampled; nothing is to be done then. */
static void forget_unloaded(bool is_all)
{
    const struct code_map *map = modules_enter();
    ptrdiff_t unloaded = is_all && map != NULL && !counts_calls(map) ? count_unloaded(map) : -1;
    modules_leave(map);
    if (unloaded != 0)
        collector_remap(unloaded > 0 ? (size_t)unloaded : 0);
}

/* Thread-safe, as dlclose is. A library that was loaded, used and closed between two scans is scanned now. */
EXPORT int dlclose(void *handle)
{
    if (!switch_is_on_here())
        return NEXT(dlclose)(handle);
    struct loader_counts before = loader_counts();
    if (__atomic_exchange_n(&last_loads, before.loads, __ATOMIC_RELAXED) != before.loads)
        collector_look_up();
    int result = NEXT(dlclose)(handle);
    struct loader_counts after = loader_counts();
    if (after.unloads != before.unloads)
        forget_unloaded(after.loads == before.loads);
    return result;
}
