#define _GNU_SOURCE
#include "loop.h"

#include <poll.h>
#include <stdbool.h>

#include "follow.h"
#include "libc.h"
#include "sys.h"

/* A record has its time before it is in its ring: what is newer than this may still have older ones to come. Nothing
 * that they are the cause of comes before them, so that who is in a hurry need not wait. */
#define MARGIN_NS 2000000u
#define MOST_RINGS 1024 /* that are waited for; all are looked at */

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

/* Sleeps until then, or until something else is the matter, such as a sample where these are urgent. The margin is
 * waited for as well. */
static void wait_until(const struct watch *watch, const struct events *events, uint64_t when_ns)
{
    static bool is_over; /* the kernel says of each ring that nothing more will come */
    struct pollfd files[2 + MOST_RINGS] = {{.fd = watch->signals, .events = POLLIN},
                                           {.fd = watch->process, .events = POLLIN}};
    nfds_t count = 2;
    for (size_t i = 0; follow_is_urgent() && !is_over && i < events->ring_count && i < MOST_RINGS; i++)
        files[count++] = (struct pollfd){.fd = events->rings[i].fd, .events = POLLIN};
    uint64_t now_ns = monotonic_ns();
    uint64_t left_ns = when_ns > now_ns ? when_ns - now_ns : 0;
    struct timespec left = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    ppoll(files, count, &left, NULL);
    for (nfds_t i = 2; i < count; i++)
        is_over |= (files[i].revents & (POLLHUP | POLLERR)) != 0;
}

enum end loop_run(struct watch *watch, struct events *events, uint64_t until_ns)
{
    for (;;) {
        uint64_t next_ns = earlier(monotonic_ns() + events->drain_ns, follow_next_ns() + MARGIN_NS);
        wait_until(watch, events, earlier(next_ns, until_ns));
        bool stops = watch_take_signals(watch);
        bool ends = watch_has_ended(watch);
        uint64_t now_ns = monotonic_ns();
        bool is_up = now_ns >= until_ns;
        if (stops || ends || is_up) {
            events_stop(events);
            drain(events, UINT64_MAX);
            follow_end(monotonic_ns());
            return ends ? ENDED : stops ? STOPPED : TIME_IS_UP;
        }
        uint64_t margin_ns = follow_is_urgent() ? 0 : MARGIN_NS;
        drain(events, now_ns - margin_ns);
        follow_tick(now_ns - margin_ns);
    }
}
