#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

extern char **environ;

/* Execute the program. A script without "#!" is run by the shell, as by execvp. Returns on failure. */
static void execute(const char *program, char **words)
{
    size_t count = 0;
    execve(program, words, environ);
    if (errno != ENOEXEC)
        return;
    while (words[count] != NULL)
        count++;
    char **of_shell = calloc(count + 2, sizeof *of_shell); /* the shell and the program for the first word, and NULL */
    if (of_shell == NULL)
        return;
    of_shell[0] = "/bin/sh";
    of_shell[1] = (char *)program;
    for (size_t i = 1; i < count; i++)
        of_shell[i + 1] = words[i];
    execve(of_shell[0], of_shell, environ);
}

int cannot_run(const char *program, int error)
{
    log_error(program, "cannot be run", -error);
    return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

static _Noreturn void wait_and_execute(int go, int failed, const char *program, char **words, const sigset_t *mask)
{
    char byte;
    ssize_t got;
    do
        got = read(go, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(0);
    /* A kill of the recorder is meant for the program. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execute(program, words);
    int error = errno;
    if (write(failed, &error, sizeof error) < 0)
        _exit(126);
    _exit(126);
}

int child_prepare(struct child *child, const char *program, char **words, const sigset_t *mask)
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return -errno;
    if (pipe2(failed, O_CLOEXEC) != 0)
        return -errno;
    child->pid = fork();
    if (child->pid < 0)
        return -errno;
    if (child->pid == 0) {
        close(go[1]);
        wait_and_execute(go[0], failed[1], program, words, mask);
    }
    close(go[0]);
    close(failed[1]);
    child->go = go[1];
    child->failed = failed[0];
    return 0;
}

int child_go(struct child *child, char **words)
{
    int error = 0;
    ssize_t got = write(child->go, "", 1);
    close(child->go);
    do
        got = read(child->failed, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    close(child->failed);
    return got == sizeof error ? cannot_run(words[0], error) : 0;
}

void recorder_prepare(void)
{
    struct rlimit files;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

void child_abandon(struct child *child)
{
    close(child->go);
    close(child->failed);
    waitpid(child->pid, NULL, 0);
}

int child_has_ended(const struct child *child)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

int child_stopped_by(const struct child *child)
{
    siginfo_t info = {.si_pid = 0};
    bool is_stopped = waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    return is_stopped ? info.si_status : 0;
}

_Noreturn void child_become(const struct child *child)
{
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status));
    /* Only the program's core is of interest. */
    const struct rlimit none = {0, 0};
    sigset_t all;
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    exit(128 + WTERMSIG(status));
}
