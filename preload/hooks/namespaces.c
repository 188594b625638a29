/* A process with several threads is refused a user namespace of its own, and others: ours leaves for the moment of the
 * call, and comes back into them. Where the program has threads itself, it is refused as ever. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "collector.h"
#include "next.h"
#include "sys.h"

#define NEW_TIME 0x80 /* CLONE_NEWTIME: glibc 2.33 */

DECLARE_NEXT(unshare);
DECLARE_NEXT(setns);

/* The thread that is gone may still be counted for some instructions. */
static bool is_worth_another_try(int result)
{
    const struct timespec pause = {0, 1000000};
    if (result == 0 || errno != EINVAL)
        return false;
    SYS2(SYS_nanosleep, &pause, NULL);
    return true;
}

EXPORT int unshare(int flags)
{
    bool is_alone = (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0 && collector_leave();
    int result = NEXT(unshare)(flags);
    if (is_alone && is_worth_another_try(result))
        result = NEXT(unshare)(flags);
    if (is_alone)
        collector_come_back();
    return result;
}

/* 0: whatever the file is of. */
EXPORT int setns(int fd, int type)
{
    bool is_alone = (type == 0 || (type & (CLONE_NEWUSER | NEW_TIME)) != 0) && collector_leave();
    int result = NEXT(setns)(fd, type);
    if (is_alone && is_worth_another_try(result))
        result = NEXT(setns)(fd, type);
    if (is_alone)
        collector_come_back();
    return result;
}
