#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "follow.h"
#include "libc.h"
#include "sys.h"

/* A record has its time before it is in its ring: what is newer than this may still have older ones to come. */
#define MARGIN_NS 2000000u

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
    *loop = (struct loop){.process = -1, .child = child, .until_ns = UINT64_MAX};
    loop->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signals < 0)
        return -errno;
    if (child == NULL)
        loop->process = (int)SYS2(SYS_PIDFD_OPEN, pid, 0);
    return child == NULL && loop->process < 0 ? loop->process : 0;
}

/* What is sent to the recorder is meant for its program; the terminal's signals reach that by themselves. Returns
 * whether the recording has to end. */
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

static void drain(struct events *events, uint64_t until_ns)
{
    uint64_t time_ns;
    const struct perf_event_header *record;
    while ((record = events_next(events, until_ns, &time_ns)) != NULL)
        follow_record(record, time_ns);
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Sleeps until then, or until something else is the matter. The margin is waited for as well. */
static void wait_until(const struct loop *loop, uint64_t when_ns)
{
    struct pollfd files[] = {{.fd = loop->signals, .events = POLLIN}, {.fd = loop->process, .events = POLLIN}};
    uint64_t now_ns = monotonic_ns();
    uint64_t left_ns = when_ns > now_ns ? when_ns - now_ns : 0;
    struct timespec left = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    ppoll(files, 2, &left, NULL);
}

static bool has_ended(const struct loop *loop)
{
    struct pollfd file = {.fd = loop->process, .events = POLLIN};
    return loop->child != NULL ? child_has_ended(loop->child) : poll(&file, 1, 0) > 0;
}

enum end loop_run(struct loop *loop, struct events *events)
{
    for (;;) {
        uint64_t next_ns = earlier(monotonic_ns() + events->drain_ns, follow_next_ns() + MARGIN_NS);
        wait_until(loop, earlier(next_ns, loop->until_ns));
        bool stops = take_signals(loop);
        bool ends = has_ended(loop);
        uint64_t now_ns = monotonic_ns();
        bool is_up = now_ns >= loop->until_ns;
        if (stops || ends || is_up) {
            events_stop(events);
            drain(events, UINT64_MAX);
            follow_end(monotonic_ns());
            return ends ? ENDED : stops ? STOPPED : TIME_IS_UP;
        }
        drain(events, now_ns - MARGIN_NS);
        follow_tick(now_ns - MARGIN_NS);
    }
}

void loop_wait(const struct loop *loop)
{
    struct pollfd file = {.fd = loop->signals, .events = POLLIN};
    while (!child_has_ended(loop->child)) {
        poll(&file, 1, -1);
        take_signals(loop);
    }
}
