/* The kernel refuses a process with several threads a new user namespace, among others. The interval thread therefore
 * ends before the call, and a new one starts after it. If the program itself has threads, the call fails as usual. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "collector.h"
#include "next.h"
#include "sys.h"

#define NEW_TIME 0x80 /* CLONE_NEWTIME: glibc 2.33 */

DECLARE_NEXT(unshare);
DECLARE_NEXT(setns);

/* Return whether to retry: the kernel may still count the ended thread for some instructions. */
static bool should_retry(int result)
{
    const struct timespec pause = {0, 1000000};
    if (result == 0 || errno != EINVAL)
        return false;
    SYS2(SYS_nanosleep, &pause, NULL);
    return true;
}

EXPORT int unshare(int flags)
{
    bool is_alone = (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0 && collector_end_thread();
    int result = NEXT(unshare)(flags);
    if (is_alone && should_retry(result))
        result = NEXT(unshare)(flags);
    if (is_alone)
        collector_restart_thread();
    return result;
}

/* 0: any type of namespace. */
EXPORT int setns(int fd, int type)
{
    bool is_alone = (type == 0 || (type & (CLONE_NEWUSER | NEW_TIME)) != 0) && collector_end_thread();
    int result = NEXT(setns)(fd, type);
    if (is_alone && should_retry(result))
        result = NEXT(setns)(fd, type);
    if (is_alone)
        collector_restart_thread();
    return result;
}
