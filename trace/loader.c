/* Thread safety: `unloads` is atomic. No locks but the loader's. */
#define _GNU_SOURCE
#include "resolve.h"

#include "loaded.h"
#include "next.h"

DECLARE_NEXT(dlclose);

static uint32_t unloads;

uint32_t loader_unloads(void)
{
    return __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

unsigned long long loader_loads(void)
{
    return loader_counts().loads;
}

int loader_close(void *handle)
{
    unsigned long long before = loader_counts().unloads;
    int result = NEXT(dlclose)(handle);
    if (loader_counts().unloads != before)
        __atomic_add_fetch(&unloads, 1, __ATOMIC_RELEASE);
    return result;
}
