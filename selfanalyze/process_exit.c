/* Ways out of a program that do not pass its destructors. Every function here is async-signal-safe, as long as its real
 * one is. */
#define _GNU_SOURCE
#include <unistd.h>

#include "libc.h"
#include "next.h"
#include "session.h"
#include "sys.h"

static __attribute__((constructor)) void at_load(void)
{
    libc_at_quick_exit(session_stop);
}

EXPORT void _exit(int status)
{
    session_stop();
    for (;;)
        SYS1(SYS_exit_group, status);
}

EXPORT void _Exit(int status)
{
    _exit(status);
}
