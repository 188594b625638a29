/* Functions that this library overrides: glibc's gprof runtime (replaced) and process exit. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector.h"
#include "next.h"

DECLARE_NEXT(exit);
DECLARE_NEXT(_exit);
DECLARE_NEXT(_Exit);

/* glibc's gprof runtime. The bounds do not matter: every module's code range comes from the kernel. */
EXPORT void __monstartup(unsigned long low, unsigned long high)
{
    (void)low, (void)high;
    int saved_errno = errno;
    collector_start(START_LINKED);
    errno = saved_errno;
}

EXPORT void monstartup(unsigned long low, unsigned long high)
{
    __monstartup(low, high);
}

EXPORT void moncontrol(int mode)
{
    collector_pause(mode == 0);
}

EXPORT void _mcleanup(void)
{
    collector_note_buffers();
    collector_stop();
}

/* If several threads call it at once, libc lets each end the process while another one is in a handler. So later
 * threads end the recording first. Thread-safe. */
EXPORT void exit(int status)
{
    static int calls;
    if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) > 0)
        collector_stop();
    NEXT(exit)(status);
    __builtin_unreachable();
}

/* Async-signal-safe, as _exit is: collector_stop waits for two seconds at most, and not at all in a vfork child. */
EXPORT void _exit(int status)
{
    collector_stop();
    NEXT(_exit)(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    collector_stop();
    NEXT(_Exit)(status);
    __builtin_unreachable();
}
