/* A program that restricts its own system calls (seccomp) restricts ours with them: a filter may kill the process for
 * one that only the library makes, or leave the interval thread dead and the program waiting for it. The filter's
 * effect cannot be determined, so the recording ends, complete, just before the call. */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collector.h"
#include "next.h"
#include "switch.h"
#include "sys.h"
#include "vfork.h"
#include "worker.h"

DECLARE_NEXT(prctl);
DECLARE_NEXT(syscall);

/* End the recording; the interval thread makes no system calls after this returns. */
static void end_recording(void)
{
    if (!switch_is_on_here())
        return;
    pid_t worker = worker_tid();
    vfork_end();
    collector_end("the program restricts its system calls (seccomp): the recording ends here");
    for (int milliseconds = 0; milliseconds < 100; milliseconds++) {
        struct timespec pause = {0, 1000000};
        if (SYS3(SYS_tgkill, SYS0(SYS_getpid), worker, 0) != 0)
            return;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
}

/* Async-signal-safe and thread-safe, as libc's are. */
EXPORT int prctl(int option, ...)
{
    va_list words;
    unsigned long argument[4];
    va_start(words, option);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(words, unsigned long);
    va_end(words);
    if (option == PR_SET_SECCOMP)
        end_recording();
    return NEXT(prctl)(option, argument[0], argument[1], argument[2], argument[3]);
}

static bool restricts(long number, const long *argument)
{
    if (number == SYS_prctl)
        return argument[0] == PR_SET_SECCOMP;
    return number == SYS_seccomp && (argument[0] == SECCOMP_SET_MODE_STRICT || argument[0] == SECCOMP_SET_MODE_FILTER);
}

EXPORT long syscall(long number, ...)
{
    va_list words;
    long argument[6];
    va_start(words, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(words, long);
    va_end(words);
    if (restricts(number, argument))
        end_recording();
    if (number == SYS_unshare)
        return unshare((int)argument[0]);
    if (number == SYS_setns)
        return setns((int)argument[0], (int)argument[1]);
    return NEXT(syscall)(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
