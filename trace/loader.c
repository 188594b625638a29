/* Thread safety: `unloads` is atomic. No locks but the loader's. */
#define _GNU_SOURCE
#include "loader.h"

#include <link.h>

#include "next.h"

DECLARE_NEXT(dlclose);

static uint32_t unloads;

struct counters {
    unsigned long long loads, unloads;
};

static int take_counters(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size;
    *(struct counters *)into = (struct counters){info->dlpi_adds, info->dlpi_subs};
    return 1; /* the first object has the numbers */
}

static struct counters ask(void)
{
    struct counters counters = {0, 0};
    dl_iterate_phdr(take_counters, &counters);
    return counters;
}

uint32_t loader_unloads(void)
{
    return __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

unsigned long long loader_loads(void)
{
    return ask().loads;
}

int loader_close(void *handle)
{
    unsigned long long before = ask().unloads;
    int result = NEXT(dlclose)(handle);
    if (ask().unloads != before)
        __atomic_add_fetch(&unloads, 1, __ATOMIC_RELEASE);
    return result;
}
