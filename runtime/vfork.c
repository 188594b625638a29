/* Thread safety: `owner` is atomic. */
#define _GNU_SOURCE
#include "vfork.h"

#include <sys/types.h>

#include "sys.h"

static pid_t owner;

void vfork_begin(void)
{
    __atomic_store_n(&owner, (pid_t)SYS0(SYS_getpid), __ATOMIC_RELAXED);
}

bool vfork_is_child(void)
{
    pid_t registered = __atomic_load_n(&owner, __ATOMIC_RELAXED);
    return registered != 0 && (pid_t)SYS0(SYS_getpid) != registered;
}

void vfork_end(void)
{
    __atomic_store_n(&owner, 0, __ATOMIC_RELAXED);
}
