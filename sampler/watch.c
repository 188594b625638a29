#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc.h"

static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static sigset_t blocked;

void watch_block_signals(sigset_t *before)
{
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    /* Under nohup, or in the background of a script, they are ignored, and have to stay so. */
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct sigaction action;
        if (sigaction(taken[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&blocked, taken[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, before);
}

int watch_open(struct watch *watch, const struct child *child, pid_t pid)
{
    *watch = (struct watch){.process = -1, .child = child, .pid = child == NULL ? pid : 0};
    watch->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0)
        return -errno;
    if (watch->pid > 0)
        watch->process = (int)syscall(SYS_PIDFD_OPEN, watch->pid, 0);
    return watch->process < 0 && watch->pid > 0 && errno != ENOSYS ? -errno : 0;
}

bool watch_take_signals(const struct watch *watch)
{
    struct signalfd_siginfo info;
    bool stop = false;
    while (read(watch->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        stop |= watch->child == NULL;
        if (watch->child != NULL && (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP))
            kill(watch->child->pid, (int)info.ssi_signo);
    }
    return stop;
}

/* Asked where there is no pidfd. Nobody may have waited yet for a process that has ended; a first thread that has, with
 * others left, is none. Where /proc is hidden, kill tells. */
static bool is_running(pid_t pid)
{
    char path[32], text[1024], state = '\0';
    long threads = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    if (name_end != NULL &&
        sscanf(name_end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld", &state,
               &threads) == 2)
        return threads > 1 || (state != 'Z' && state != 'X');
    return kill(pid, 0) == 0 || errno != ESRCH;
}

bool watch_has_ended(const struct watch *watch)
{
    if (watch->child != NULL)
        return child_has_ended(watch->child);
    if (watch->process < 0)
        return watch->pid > 0 && !is_running(watch->pid);
    struct pollfd file = {.fd = watch->process, .events = POLLIN};
    return poll(&file, 1, 0) > 0;
}

void watch_wait(const struct watch *watch)
{
    struct pollfd file = {.fd = watch->signals, .events = POLLIN};
    while (!child_has_ended(watch->child)) {
        poll(&file, 1, -1);
        watch_take_signals(watch);
    }
}
