#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc.h"

/* Signals that end a recording without its own program. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static sigset_t blocked;

#define MOST_AT_ONCE 64
/* A sender that signals each process of a job separately takes some microseconds for each. */
static const struct timespec grace = {0, 10000000};

/* Select the signals. Some are ignored under nohup or in the background of a script, and must stay so; a program
 * inherits that itself. */
static void choose_signals(bool has_program)
{
    struct sigaction action;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    if (has_program)
        sigfillset(&blocked);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&blocked, ending[i]);
}

void watch_begin(struct watch *watch, bool has_program, sigset_t *before)
{
    *watch = (struct watch){.signals = -1, .process = -1};
    choose_signals(has_program);
    sigprocmask(SIG_BLOCK, &blocked, before);
    if (has_program)
        observer_start(&watch->observer);
}

int watch_open(struct watch *watch, const struct child *child, pid_t pid)
{
    watch->child = child;
    watch->pid = child == NULL ? pid : 0;
    watch->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0)
        return -errno;
    if (watch->pid > 0)
        watch->process = (int)syscall(SYS_PIDFD_OPEN, watch->pid, 0);
    return watch->process < 0 && watch->pid > 0 && errno != ENOSYS ? -errno : 0;
}

/* Return whether the signal is not for the program: a change of a child's state, a failed write of this process, or its
 * own limit. */
static bool is_own(const struct signalfd_siginfo *info)
{
    bool is_of_kernel = info->ssi_code > 0;
    return (info->ssi_signo == SIGCHLD && is_of_kernel) || (info->ssi_signo == SIGXCPU && is_of_kernel) ||
           info->ssi_pid == (uint32_t)getpid();
}

struct taken {
    struct signalfd_siginfo all[MOST_AT_ONCE];
    size_t count;
    bool may_have_stopped; /* the program */
};

static void take(const struct watch *watch, struct taken *taken)
{
    struct signalfd_siginfo info;
    while (taken->count < MOST_AT_ONCE && read(watch->signals, &info, sizeof info) == sizeof info) {
        taken->may_have_stopped |= info.ssi_signo == SIGCHLD;
        if (!is_own(&info))
            taken->all[taken->count++] = info;
    }
}

static bool has_received_all(const struct taken *taken, uint64_t observed)
{
    for (size_t i = 0; i < taken->count; i++)
        if ((observed & OBSERVED(taken->all[i].ssi_signo)) == 0)
            return false;
    return true;
}

/* Return which of these signals other processes received too. A signal that the observer process has received may
 * arrive here a moment later. */
static uint64_t query(struct watch *watch, struct taken *taken)
{
    uint64_t observed = observer_query(&watch->observer);
    take(watch, taken);
    if (has_received_all(taken, observed))
        return observed;
    nanosleep(&grace, NULL);
    observed |= observer_query(&watch->observer);
    take(watch, taken);
    return observed;
}

/* Pass a signal on. A signal from the program to its parent is meant for the process that has started the recorder. */
static void pass_on(const struct child *child, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;
    pid_t to = info->ssi_pid == (uint32_t)child->pid ? getppid() : child->pid;
    siginfo_t queued = {.si_signo = number, .si_code = SI_QUEUE};
    queued.si_pid = (pid_t)info->ssi_pid;
    queued.si_uid = info->ssi_uid;
    queued.si_value.sival_ptr = (void *)(uintptr_t)info->ssi_ptr;
    if (info->ssi_code != SI_QUEUE || syscall(SYS_rt_sigqueueinfo, to, number, &queued) != 0)
        kill(to, number);
}

static void stop(int number)
{
    struct sigaction before, plain = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigaction(number, &plain, &before);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(number, &before, NULL);
}

/* Job control: a shell detects that its job has stopped when this process stops. A program stopped by SIGSTOP may
 * continue without notice to this process, which therefore stops with it only when the terminal requests that. */
static void stop_with_program(const struct child *child, bool is_requested)
{
    int number = child_stopped_by(child);
    if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU)
        stop(number);
    else if (number != 0 && is_requested)
        stop(SIGTSTP);
}

static void relay(struct watch *watch)
{
    struct taken taken = {.count = 0};
    bool is_requested = false;
    take(watch, &taken);
    uint64_t observed = taken.count > 0 ? query(watch, &taken) : 0;
    for (size_t i = 0; i < taken.count; i++) {
        is_requested |= taken.all[i].ssi_signo == SIGTSTP;
        if ((observed & OBSERVED(taken.all[i].ssi_signo)) == 0)
            pass_on(watch->child, &taken.all[i]);
    }
    if (taken.may_have_stopped || is_requested)
        stop_with_program(watch->child, is_requested);
}

/* Pass signals on to the program. Without one, return whether the recording has to end. */
static bool take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    bool ends = false;
    if (watch->child != NULL) {
        relay(watch);
        return false;
    }
    while (read(watch->signals, &info, sizeof info) == sizeof info)
        ends |= info.ssi_signo != SIGCHLD;
    return ends;
}

/* Return whether the process is running, for kernels without pidfd. An ended process may not have been reaped yet; an
 * ended first thread with others left does not count. If /proc is hidden, use kill. */
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

static bool has_ended(const struct watch *watch)
{
    if (watch->child != NULL)
        return child_has_ended(watch->child);
    if (watch->process < 0)
        return watch->pid > 0 && !is_running(watch->pid);
    struct pollfd file = {.fd = watch->process, .events = POLLIN};
    return poll(&file, 1, 0) > 0;
}

enum end watch_next(struct watch *watch, struct pollfd *files, nfds_t count, const struct timespec *left)
{
    files[0] = (struct pollfd){.fd = watch->signals, .events = POLLIN};
    files[1] = (struct pollfd){.fd = watch->process, .events = POLLIN};
    if (ppoll(files, count, left, NULL) < 0 && errno != EINTR)
        return FAILED;
    bool has_signals = files[0].revents != 0;
    bool stops = has_signals && take_signals(watch);
    /* The end of a child is also signalled. */
    if ((has_signals || watch->child == NULL) && has_ended(watch))
        return ENDED;
    return stops ? STOPPED : GOES_ON;
}

void watch_wait(struct watch *watch)
{
    struct pollfd file = {.fd = watch->signals, .events = POLLIN};
    while (!child_has_ended(watch->child)) {
        poll(&file, 1, -1);
        take_signals(watch);
    }
    observer_end(&watch->observer);
}
