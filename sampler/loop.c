#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Linux 5.3; the C library's headers may be older. */
#define SYS_PIDFD_OPEN 434

static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static sigset_t blocked;

void loop_block_signals(sigset_t *before)
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

int loop_open(struct loop *loop, const struct child *child, pid_t pid)
{
    *loop = (struct loop){.timer = -1, .process = -1, .child = child, .pid = child == NULL ? pid : 0};
    loop->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    /* timerfd keeps the schedule and counts what was missed, and poll knows no gap between looking and waiting. */
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->signals < 0 || loop->timer < 0)
        return -errno;
    if (loop->pid > 0)
        loop->process = (int)syscall(SYS_PIDFD_OPEN, loop->pid, 0);
    return loop->process < 0 && loop->pid > 0 && errno != ENOSYS ? -errno : 0;
}

static struct timespec as_time(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* What is sent to the sampler is meant for its program; the terminal's signals reach that by themselves. Returns
 * whether the sampling has to end. */
static bool take_signals(const struct loop *loop)
{
    struct signalfd_siginfo info;
    bool stop = false;
    while (read(loop->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        stop |= loop->child == NULL;
        if (loop->child != NULL && (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP))
            kill(loop->child->pid, (int)info.ssi_signo);
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

static bool has_ended(const struct loop *loop, bool process_says_so)
{
    if (loop->child != NULL)
        return child_has_ended(loop->child);
    return process_says_so || (loop->pid > 0 && loop->process < 0 && !is_running(loop->pid));
}

enum end loop_run(struct loop *loop, struct rows *rows)
{
    const struct itimerspec schedule = {as_time(rows->interval_ns), as_time(rows->start_ns + rows->interval_ns)};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &schedule, NULL);
    struct pollfd files[] = {
        {.fd = loop->timer, .events = POLLIN},
        {.fd = loop->signals, .events = POLLIN},
        {.fd = loop->process, .events = POLLIN},
    };
    uint64_t ticks, passed_ns = 0;
    while (rows->error == 0) {
        if (poll(files, 3, -1) < 0 && errno != EINTR)
            return FAILED;
        if (files[1].revents != 0 && take_signals(loop))
            return STOPPED;
        /* Its end is a signal too. */
        if ((files[1].revents != 0 || loop->child == NULL) && has_ended(loop, files[2].revents != 0))
            return ENDED;
        if (read(loop->timer, &ticks, sizeof ticks) != sizeof ticks)
            continue;
        rows_tick(rows, ticks - 1);
        passed_ns += ticks * rows->interval_ns;
        if (loop->for_ns > 0 && passed_ns + rows->interval_ns / 2 >= loop->for_ns)
            return TIME_IS_UP;
    }
    return FAILED;
}

void loop_wait(const struct loop *loop)
{
    struct pollfd file = {.fd = loop->signals, .events = POLLIN};
    while (!child_has_ended(loop->child)) {
        poll(&file, 1, -1);
        take_signals(loop);
    }
}
