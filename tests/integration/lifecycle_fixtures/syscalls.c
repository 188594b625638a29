/* Runs a program and counts system calls of its threads and children.
 *
 *     syscalls FILE PROGRAM ARGUMENTS...
 *
 * FILE gets a line `number count` for each. Ends as the program does; 77 where there is no ptrace. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 1024 };

static long counts[NUMBERS];

static void count(pid_t thread)
{
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY &&
        info.entry.nr < NUMBERS)
        counts[info.entry.nr]++;
}

/* The signal that the thread is to get, or 0 for stops that are only ptrace's. */
static int passed_on(int status)
{
    int signal = WSTOPSIG(status);
    return signal == (SIGTRAP | 0x80) || status >> 16 != 0 || signal == SIGSTOP ? 0 : signal;
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACEEXEC;
    int status = 0, result = 0;
    pid_t thread, child = fork();
    if (argc < 3 || child < 0)
        return 2;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 77;
    ptrace(PTRACE_SETOPTIONS, child, NULL, options);
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    while ((thread = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status)) {
            if (WSTOPSIG(status) == (SIGTRAP | 0x80))
                count(thread);
            ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(long)passed_on(status));
        } else if (thread == child) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    FILE *file = fopen(argv[1], "w");
    for (int number = 0; file != NULL && number < NUMBERS; number++)
        if (counts[number] > 0)
            fprintf(file, "%d %ld\n", number, counts[number]);
    return file != NULL && fclose(file) == 0 ? result : 2;
}
