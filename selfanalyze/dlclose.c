/* Thread safety: everything is atomic, except `own`, which is per thread. */
#define _GNU_SOURCE
#include "functions.h"

#include <dlfcn.h>

#include "libc.h"
#include "loaded.h"
#include "next.h"

DECLARE_NEXT(dlclose);

static uint64_t begun, ended;
static uint64_t cached_epoch; /* the lower half of `ended`, and above it the loader's count at that time */
static __thread uint64_t own; /* number of dlclose calls that this thread is in */

/* Libraries that other threads were closing at the fork stay half closed in the child. */
static void fork_child(void)
{
    ended++;
    begun = ended + own;
}

static __attribute__((constructor)) void at_load(void)
{
    libc_at_fork(NULL, NULL, fork_child);
}

uint64_t closes_epoch(void)
{
    uint64_t now = __atomic_load_n(&ended, __ATOMIC_ACQUIRE), cached = __atomic_load_n(&cached_epoch, __ATOMIC_ACQUIRE);
    bool is_quiet = __atomic_load_n(&begun, __ATOMIC_ACQUIRE) == now;
    if (is_quiet && cached != 0 && (uint32_t)cached == (uint32_t)now)
        return cached >> 32;
    uint64_t epoch = (uint32_t)(loader_counts().unloads + 1);
    if (is_quiet && __atomic_load_n(&begun, __ATOMIC_ACQUIRE) == now)
        __atomic_store_n(&cached_epoch, epoch << 32 | (uint32_t)now, __ATOMIC_RELEASE);
    return epoch;
}

int closes_nothing(void *handle)
{
    return NEXT(dlclose)(handle);
}

/* Thread-safe, as dlclose is. It does not depend on its caller. */
EXPORT int dlclose(void *handle)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    own++;
    int result = NEXT(dlclose)(handle);
    own--;
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    return result;
}
