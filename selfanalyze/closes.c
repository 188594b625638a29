/* Who may touch what: both counters are atomic, `own` is each thread's. */
#define _GNU_SOURCE
#include "closes.h"

#include <dlfcn.h>

#include "libc.h"
#include "next.h"

DECLARE_NEXT(dlclose);

static uint64_t begun, ended;
static __thread uint64_t own; /* closes that this thread is in */

/* What other threads were closing at the fork stays half closed here. */
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
    uint64_t now = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&begun, __ATOMIC_ACQUIRE) == now ? now + 1 : 0;
}

int closes_nothing(void *handle)
{
    return NEXT(dlclose)(handle);
}

/* Thread-safe, as dlclose is. It never asks who has called it. */
EXPORT int dlclose(void *handle)
{
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    own++;
    int result = NEXT(dlclose)(handle);
    own--;
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    return result;
}
