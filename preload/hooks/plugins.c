/* dlclose: what was recorded in a library is looked up while nothing else is where it was. dlopen is left alone: it
 * asks who has called it. Who may touch what: `known_loads` is atomic. No locks of ours; the loader's is recursive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "collector.h"
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

/* Thread-safe, as dlclose is. A library that was loaded, used and is closed before any look is looked at now. */
EXPORT int dlclose(void *handle)
{
    if (!switch_is_on())
        return NEXT(dlclose)(handle);
    struct loader before = ask_loader();
    if (__atomic_exchange_n(&known_loads, before.loads, __ATOMIC_RELAXED) != before.loads)
        collector_remap();
    int result = NEXT(dlclose)(handle);
    if (ask_loader().unloads != before.unloads)
        collector_remap();
    return result;
}
