/* Wrappers of the calls by which a program changes its user. libc changes all threads that it manages; the interval
 * thread follows at once. Every function here is async-signal-safe as far as libc's is; if nothing is recorded, it only
 * calls libc's. */
#define _GNU_SOURCE
#include <grp.h>
#include <unistd.h>

#include "next.h"
#include "worker.h"

DECLARE_NEXT(setuid);
DECLARE_NEXT(seteuid);
DECLARE_NEXT(setreuid);
DECLARE_NEXT(setresuid);
DECLARE_NEXT(setgid);
DECLARE_NEXT(setegid);
DECLARE_NEXT(setregid);
DECLARE_NEXT(setresgid);
DECLARE_NEXT(setgroups);
DECLARE_NEXT(initgroups);

static int followed(int result)
{
    if (result == 0)
        worker_follow(LONGEST_WAIT_NS);
    return result;
}

EXPORT int setuid(uid_t user)
{
    return followed(NEXT(setuid)(user));
}

EXPORT int seteuid(uid_t user)
{
    return followed(NEXT(seteuid)(user));
}

EXPORT int setreuid(uid_t real, uid_t effective)
{
    return followed(NEXT(setreuid)(real, effective));
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    return followed(NEXT(setresuid)(real, effective, saved));
}

EXPORT int setgid(gid_t group)
{
    return followed(NEXT(setgid)(group));
}

EXPORT int setegid(gid_t group)
{
    return followed(NEXT(setegid)(group));
}

EXPORT int setregid(gid_t real, gid_t effective)
{
    return followed(NEXT(setregid)(real, effective));
}

EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved)
{
    return followed(NEXT(setresgid)(real, effective, saved));
}

EXPORT int setgroups(size_t count, const gid_t *groups)
{
    return followed(NEXT(setgroups)(count, groups));
}

EXPORT int initgroups(const char *user, gid_t group)
{
    return followed(NEXT(initgroups)(user, group));
}
