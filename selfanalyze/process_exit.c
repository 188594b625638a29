/* Exits that do not run the program's destructors. Every function here is async-signal-safe if libc's is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "libc.h"
#include "next.h"
#include "session.h"

DECLARE_NEXT(_exit);
DECLARE_NEXT(_Exit);

static __attribute__((constructor)) void at_load(void)
{
    libc_at_quick_exit(session_stop);
}

EXPORT void _exit(int status)
{
    session_stop();
    NEXT(_exit)(status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    session_stop();
    NEXT(_Exit)(status);
    __builtin_unreachable();
}
