/* Programs that restrict their own system calls: to four (strict), or by a filter that kills. */
#define _GNU_SOURCE
#include "host.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile int started;

static void *idle(void *unused)
{
    started = 1;
    burn(120);
    return unused;
}

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   ALLOW(SYS_write),
                                   ALLOW(SYS_exit_group),
                                   ALLOW(SYS_exit),
                                   ALLOW(SYS_clock_gettime),
                                   ALLOW(SYS_rt_sigreturn),
                                   ALLOW(SYS_futex),
                                   ALLOW(SYS_munmap),
                                   ALLOW(SYS_madvise),
                                   ALLOW(SYS_rt_sigprocmask),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    pthread_t thread;
    (void)argc;
    work(77);
    burn(80);
    if (strcmp(argv[1], "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        work(100);
        write(1, "alive\n", 6);
        syscall(SYS_exit, 0);
    }
    pthread_create(&thread, NULL, idle, NULL);
    while (!started)
        burn(1);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return 1;
    burn(120);
    pthread_join(thread, NULL);
    write(1, "alive\n", 6);
    return 5;
}
