/* Programs whose threads end behind libc's back, after 1000 calls of tick (and beats, WITH_HEARTBEATS).
 *
 *     gone exit       the only thread, by a system call
 *     gone strict     the only thread, killed by the kernel for a system call that it has forbidden itself
 *     gone filter     likewise, by a filter that kills threads
 *     gone later      the first thread by a system call, and then the other one as libc's threads do
 *     gone leave      the first thread by pthread_exit */
#include "host.h"

#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef WITH_HEARTBEATS
#include <appekg.h>
#define BEAT() ekg_pulse(1)
#else
#define BEAT() ((void)0)
#endif

static void forbid_getppid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* How often the interval threads have gone to sleep; -1 where there is none. */
static long count_sleeps(void)
{
    static const char field[] = "voluntary_ctxt_switches:";
    char path[512], line[256];
    long sleeps = -1;
    DIR *directory = opendir("/proc/self/task");
    const struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        int is_ours = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            is_ours = is_ours || strcmp(line, "Name:\tincprof\n") == 0 || strcmp(line, "Name:\tappekg\n") == 0;
            if (is_ours && strncmp(line, field, sizeof field - 1) == 0)
                sleeps = atol(line + sizeof field);
        }
        if (file != NULL)
            fclose(file);
    }
    if (directory != NULL)
        closedir(directory);
    return sleeps;
}

/* Until the interval thread has seen that the first one is gone, and others are not. */
static void *goes_on(void *unused)
{
    usleep(600000); /* it looks twice a second */
    long before = count_sleeps();
    for (int attempt = 0; attempt < 60000 && before >= 0 && count_sleeps() < before + 2; attempt++)
        usleep(10000);
    return unused;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    pthread_t other;
    work(1000);
    for (int i = 0; i < 1000; i++)
        BEAT();
    if (strcmp(mode, "strict") == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(mode, "filter") == 0)
        forbid_getppid();
    if (strcmp(mode, "strict") == 0 || strcmp(mode, "filter") == 0)
        syscall(SYS_getppid);
    if (strcmp(mode, "later") == 0 && pthread_create(&other, NULL, goes_on, NULL) != 0)
        return 1;
    if (strcmp(mode, "leave") == 0)
        pthread_exit(NULL);
    syscall(SYS_exit, 3);
    return 2;
}
