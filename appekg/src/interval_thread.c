/* Thread safety: session_start_ns is written before the thread starts. The thread takes the locks of slots, of free
 * records and of the catalogue, but never `starting` (lifecycle.c), whose holder may be waiting for it. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include "quiescence.h"
#include "sys.h"
#include "thinning.h"
#include "worker.h"

#define MOST_MORE 3 /* intervals at the end */
#define CONTROL_PERIOD_NS 250000000u

enum { REQUEST_STOP = 1 };

static void obey_control(void)
{
    enum control control = control_poll();
    if (control != CONTROL_NONE)
        switch_turn(control == CONTROL_ON);
}

static void write_last(void)
{
    const struct snapshot *last = interval_take();
    switch_turn(false);
    session_write(last);
    for (int i = 0; i < MOST_MORE && interval_has_more(); i++)
        session_write(last = interval_take());
    session_close(last);
}

#ifdef EKG_FAKE_CLOCK /* tests of the library control the intervals' ends */

void ekg_fake_interval(void)
{
    obey_control();
    session_write(interval_take());
}

bool interval_thread_start(uint64_t start_ns)
{
    (void)start_ns;
    quiescence_prepare();
    cost_measure();
    thinning_price();
    return true;
}

void interval_thread_stop(void)
{
    write_last();
}

#else

static uint64_t session_start_ns;

/* Deadlines are on a grid; past ones are skipped after the machine slept or was too busy. */
static void run(void)
{
    const uint64_t interval_ns = session_interval_ns();
    uint64_t grid = session_start_ns + interval_ns;
    quiescence_prepare();
    cost_measure();
    thinning_price();
    uint64_t next_poll = monotonic_ns();
    uint32_t request;
    while ((request = worker_wait(next_poll < grid ? next_poll : grid)) == 0) {
        if (monotonic_ns() >= next_poll) {
            obey_control();
            next_poll = monotonic_ns() + CONTROL_PERIOD_NS;
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
        switch_end();
}

bool interval_thread_start(uint64_t start_ns)
{
    session_start_ns = start_ns;
    return worker_start("appekg", run);
}

void interval_thread_stop(void)
{
    worker_request(REQUEST_STOP, LONGEST_WAIT_NS);
}

#endif
