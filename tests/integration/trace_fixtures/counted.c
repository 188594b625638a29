/* Touches a known number of new pages before each MPI call: that many page faults. The first argument selects what else
 * it does. */
#define _GNU_SOURCE
#include <mpi.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define MOST 64

static void touch(int pages)
{
    volatile char *memory = mmap(NULL, MOST * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, MOST * PAGE, MADV_NOHUGEPAGE);
    for (int i = 0; i < pages; i++)
        memory[i * PAGE] = 1;
    munmap((void *)memory, MOST * PAGE);
}

static void work(int from, int calls)
{
    int flag;
    for (int i = from; i < from + calls; i++) {
        touch(i % 40);
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
}

static void *in_thread(void *unused)
{
    work(20, 30);
    return unused;
}

static void forbid(int call)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Every descriptor that the tracer could have, and pipes that are full in place of them. */
static int replace_descriptors(int ends[2])
{
    int replaced = 0;
    if (pipe(ends) != 0 || write(ends[1], "0123456789", 10) != 10)
        return 0;
    for (int fd = 100; fd < 2000; fd++)
        if (fcntl(fd, F_GETFD) >= 0 && dup2(ends[0], fd) == fd)
            replaced++;
    return replaced;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int provided, ends[2] = {-1, -1}, replaced = 0;
    if (strcmp(how, "forbidden") == 0)
        forbid(SYS_perf_event_open);
    if (strcmp(how, "few") == 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){200, 200});
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    work(0, 50);
    if (strcmp(how, "threads") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "fork") == 0) {
        int flag;
        if (fork() == 0) {
            touch(60);
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
            touch(60);
            _exit(0);
        }
        wait(NULL);
    }
    if (strcmp(how, "exec") == 0) {
        /* What a program that it starts inherits. */
        fflush(stdout);
        system("for fd in /proc/self/fd/*; do readlink $fd; done | grep -c perf_event");
    }
    if (strcmp(how, "replace") == 0)
        replaced = replace_descriptors(ends);
    work(50, 50);
    if (strcmp(how, "replace") == 0) {
        char text[11] = "";
        printf("%d replaced, %zd bytes left\n", replaced, read(ends[0], text, 10));
    }
    MPI_Finalize();
    puts("done");
    return 0;
}
