#define _GNU_SOURCE
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sensors.h"

int loop_open(struct loop *loop, const struct child *child, pid_t pid)
{
    int error = watch_open(&loop->watch, child, pid);
    if (error != 0)
        return error;
    /* timerfd keeps the schedule and counts what was missed, and poll knows no gap between looking and waiting. */
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return loop->timer < 0 ? -errno : 0;
}

static struct timespec as_time(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

/* How long to wait at most, or -1 where each row comes soon enough for counters of energy. */
static int pause_of(uint64_t interval_ns)
{
    uint64_t round_ns = sensors_round_ns();
    if (round_ns == 0 || interval_ns <= round_ns)
        return -1;
    return round_ns / 1000000 < INT_MAX ? (int)(round_ns / 1000000) : INT_MAX;
}

enum end loop_run(struct loop *loop, struct rows *rows)
{
    struct watch *watch = &loop->watch;
    const struct itimerspec schedule = {as_time(rows->interval_ns), as_time(rows->start_ns + rows->interval_ns)};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &schedule, NULL);
    struct pollfd files[] = {
        {.fd = loop->timer, .events = POLLIN},
        {.fd = watch->signals, .events = POLLIN},
        {.fd = watch->process, .events = POLLIN},
    };
    uint64_t ticks, passed_ns = 0;
    const int pause_ms = pause_of(rows->interval_ns);
    while (rows->error == 0) {
        if (poll(files, 3, pause_ms) < 0 && errno != EINTR)
            return FAILED;
        if (pause_ms >= 0)
            sensors_keep_up();
        if (files[1].revents != 0 && watch_take_signals(watch))
            return STOPPED;
        /* Its end is a signal too. */
        if ((files[1].revents != 0 || watch->child == NULL) && watch_has_ended(watch))
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
