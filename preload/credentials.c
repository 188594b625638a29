/* The calls by which a program becomes another user: libc has all threads that it knows go with it, and the interval
 * thread goes at once, too. Every function here is async-signal-safe as far as its real one is; where nothing is
 * recorded, it is that one and nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <unistd.h>

#include "worker.h"

#define EXPORT __attribute__((visibility("default")))
#define LONGEST_WAIT_NS 2000000000u

static int (*real_setuid)(uid_t);
static int (*real_seteuid)(uid_t);
static int (*real_setreuid)(uid_t, uid_t);
static int (*real_setresuid)(uid_t, uid_t, uid_t);
static int (*real_setgid)(gid_t);
static int (*real_setegid)(gid_t);
static int (*real_setregid)(gid_t, gid_t);
static int (*real_setresgid)(gid_t, gid_t, gid_t);
static int (*real_setgroups)(size_t, const gid_t *);
static int (*real_initgroups)(const char *, gid_t);

static void find(void *real, const char *name)
{
    *(void **)real = dlsym(RTLD_NEXT, name);
}

/* Before any signal handler or forked child can get here. */
__attribute__((constructor)) static void resolve(void)
{
    find(&real_setuid, "setuid");
    find(&real_seteuid, "seteuid");
    find(&real_setreuid, "setreuid");
    find(&real_setresuid, "setresuid");
    find(&real_setgid, "setgid");
    find(&real_setegid, "setegid");
    find(&real_setregid, "setregid");
    find(&real_setresgid, "setresgid");
    find(&real_setgroups, "setgroups");
    find(&real_initgroups, "initgroups");
}

static int followed(int result)
{
    if (result == 0)
        worker_follow(LONGEST_WAIT_NS);
    return result;
}

EXPORT int setuid(uid_t user)
{
    return followed(real_setuid(user));
}

EXPORT int seteuid(uid_t user)
{
    return followed(real_seteuid(user));
}

EXPORT int setreuid(uid_t real, uid_t effective)
{
    return followed(real_setreuid(real, effective));
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    return followed(real_setresuid(real, effective, saved));
}

EXPORT int setgid(gid_t group)
{
    return followed(real_setgid(group));
}

EXPORT int setegid(gid_t group)
{
    return followed(real_setegid(group));
}

EXPORT int setregid(gid_t real, gid_t effective)
{
    return followed(real_setregid(real, effective));
}

EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved)
{
    return followed(real_setresgid(real, effective, saved));
}

EXPORT int setgroups(size_t count, const gid_t *groups)
{
    return followed(real_setgroups(count, groups));
}

EXPORT int initgroups(const char *user, gid_t group)
{
    return followed(real_initgroups(user, group));
}
