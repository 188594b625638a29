/* Limits and rights that a program gives itself. */
#include "host.h"

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void limit(const char *what, int which, rlim_t value)
{
    struct rlimit both;
    getrlimit(which, &both);
    both.rlim_cur = value < both.rlim_max ? value : both.rlim_max;
    say(what, setrlimit(which, &both));
}

static void act_nofile(long number)
{
    limit("nofile", RLIMIT_NOFILE, (rlim_t)number);
}

static void act_fsize(long number)
{
    limit("fsize", RLIMIT_FSIZE, (rlim_t)number << 10);
}

static void act_stack(long number)
{
    limit("stack", RLIMIT_STACK, (rlim_t)number << 10);
}

static void act_cpu(long number)
{
    limit("cpu", RLIMIT_CPU, (rlim_t)number);
}

static void act_sigpending(long number)
{
    limit("sigpending", RLIMIT_SIGPENDING, (rlim_t)number);
}

static void act_nproc(long number)
{
    limit("nproc", RLIMIT_NPROC, (rlim_t)number);
}

/* So many MiB more than what is mapped now. */
static void act_as(long number)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    limit("as", RLIMIT_AS, pages * 4096 + ((rlim_t)number << 20));
}

static void act_lock(long number)
{
    say("lock", mlockall(number % 2 ? MCL_CURRENT : MCL_CURRENT | MCL_FUTURE));
}

static void act_user(long number)
{
    if (geteuid() == 0 && setgroups(0, NULL) != 0)
        say("setgroups", errno);
    say("setgid", number % 2 ? setresgid(65534, 65534, 65534) : setgid(65534));
    say("setuid", number % 2 ? setresuid(65534, 65534, 65534) : setuid(65534));
}

static void act_euser(long number)
{
    say("seteuid", seteuid(65534));
    burn(number);
    say("back", seteuid(getuid()));
}

static void act_chroot(long number)
{
    say("chroot", chroot(".") + number);
}

static void act_dumpable(long number)
{
    say("dumpable", prctl(PR_SET_DUMPABLE, number % 2));
}

static void act_nice(long number)
{
    errno = 0;
    say("nice", nice((int)(number % 5)) < 0 && errno != 0);
}

static void act_affinity(long number)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    say("affinity", sched_setaffinity(0, sizeof one, &one) + number);
}

/* A filter that lets everything through, or refuses one call that nothing here makes. */
static void act_seccomp(long number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (number % 2)
        say("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
    else
        say("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void act_clearenv(long number)
{
    say("clearenv", clearenv() + number);
}

const struct action limit_actions[] = {{"nofile", act_nofile},
                                       {"fsize", act_fsize},
                                       {"stack", act_stack},
                                       {"cpu", act_cpu},
                                       {"sigpending", act_sigpending},
                                       {"nproc", act_nproc},
                                       {"as", act_as},
                                       {"lock", act_lock},
                                       {"user", act_user},
                                       {"euser", act_euser},
                                       {"chroot", act_chroot},
                                       {"dumpable", act_dumpable},
                                       {"nice", act_nice},
                                       {"affinity", act_affinity},
                                       {"seccomp", act_seccomp},
                                       {"clearenv", act_clearenv},
                                       {NULL, NULL}};
