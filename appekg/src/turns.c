#define _GNU_SOURCE
#include "turns.h"

#include "control.h"
#include "cost.h"
#include "interval.h"
#include "lifecycle.h"
#include "session.h"
#include "settle.h"
#include "sys.h"
#include "worker.h"

#define LONGEST_WAIT_NS 2000000000u
#define MOST_MORE 3 /* intervals at the end */
#define CONTROL_PERIOD_NS 250000000u

enum { REQUEST_STOP = 1 };

static void obey_control(void)
{
    enum control control = control_look();
    if (control != CONTROL_NONE)
        lifecycle_switch(control == CONTROL_ON);
}

static void write_last(void)
{
    const struct snapshot *last = interval_take();
    lifecycle_switch(false);
    session_write(last);
    for (int i = 0; i < MOST_MORE && interval_left_some(); i++)
        session_write(last = interval_take());
    session_close(last);
}

#ifdef EKG_FAKE_CLOCK /* tests of the library: an interval ends when they say */

void ekg_fake_interval(void)
{
    obey_control();
    session_write(interval_take());
}

bool turns_start(uint64_t start_ns)
{
    (void)start_ns;
    records_prepare();
    return true;
}

void turns_stop(void)
{
    write_last();
}

#else

static uint64_t session_start_ns;

/* Deadlines lie on a grid: when the machine was asleep, or too busy, what is past is skipped. */
static void run(void)
{
    const uint64_t interval_ns = session_interval_ns();
    uint64_t grid = session_start_ns + interval_ns;
    records_prepare();
    cost_measure();
    uint64_t look = monotonic_ns();
    uint32_t request;
    while ((request = worker_wait(look < grid ? look : grid)) == 0) {
        if (monotonic_ns() >= look) {
            obey_control();
            look = monotonic_ns() + CONTROL_PERIOD_NS;
        }
        if (monotonic_ns() < grid)
            continue;
        session_write(interval_take());
        uint64_t now = monotonic_ns();
        if (now >= grid)
            grid += ((now - grid) / interval_ns + 1) * interval_ns;
    }
    write_last();
    if (request == WORKER_END)
        lifecycle_end();
}

bool turns_start(uint64_t start_ns)
{
    session_start_ns = start_ns;
    return worker_start("appekg", run);
}

void turns_stop(void)
{
    worker_ask(REQUEST_STOP, LONGEST_WAIT_NS);
}

#endif
