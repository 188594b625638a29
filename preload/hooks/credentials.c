/* Wrappers of the calls by which a program changes its user. libc changes all threads that it manages; the interval
 * thread follows at once. Every function here is async-signal-safe as far as libc's is; if nothing is recorded, it only
 * calls libc's. */
#define _GNU_SOURCE
#include <grp.h>
#include <unistd.h>

#include "next.h"
#include "worker.h"

#define FOLLOWED(name, parameters, arguments)                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name parameters                                                                                         \
    {                                                                                                                  \
        int result = NEXT(name) arguments;                                                                             \
        if (result == 0)                                                                                               \
            worker_follow(LONGEST_WAIT_NS);                                                                            \
        return result;                                                                                                 \
    }

FOLLOWED(setuid, (uid_t user), (user))
FOLLOWED(seteuid, (uid_t user), (user))
FOLLOWED(setreuid, (uid_t real, uid_t effective), (real, effective))
FOLLOWED(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
FOLLOWED(setgid, (gid_t group), (group))
FOLLOWED(setegid, (gid_t group), (group))
FOLLOWED(setregid, (gid_t real, gid_t effective), (real, effective))
FOLLOWED(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
FOLLOWED(setgroups, (size_t count, const gid_t *groups), (count, groups))
FOLLOWED(initgroups, (const char *user, gid_t group), (user, group))
