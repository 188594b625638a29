#define _GNU_SOURCE
#include "switch.h"

#include "sys.h"
#include "worker.h"

static int state = SWITCH_EARLY;
static int is_paused;
static int scan_wanted;
static uint64_t next_scan_ns;

void switch_set(enum switch_state new_state)
{
    __atomic_store_n(&state, new_state, __ATOMIC_RELEASE);
}

void switch_pause(bool paused)
{
    __atomic_store_n(&is_paused, paused, __ATOMIC_RELAXED);
}

bool switch_is_on(void)
{
    return __atomic_load_n(&state, __ATOMIC_RELAXED) == SWITCH_ON;
}

bool switch_is_sampling(void)
{
    return switch_is_on() && __atomic_load_n(&is_paused, __ATOMIC_RELAXED) == 0;
}

bool switch_is_off(void)
{
    return __atomic_load_n(&state, __ATOMIC_RELAXED) == SWITCH_OFF;
}

void switch_request_scan(void)
{
    __atomic_store_n(&scan_wanted, 1, __ATOMIC_RELAXED);
    if (monotonic_ns() >= __atomic_load_n(&next_scan_ns, __ATOMIC_RELAXED))
        worker_nudge(REQUEST_SCAN);
}

bool switch_scan_is_wanted(void)
{
    return __atomic_load_n(&scan_wanted, __ATOMIC_RELAXED) != 0 &&
           monotonic_ns() >= __atomic_load_n(&next_scan_ns, __ATOMIC_RELAXED);
}

void switch_scan_done(uint64_t next_ns)
{
    __atomic_store_n(&scan_wanted, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&next_scan_ns, next_ns, __ATOMIC_RELAXED);
}

void switch_request_tickers(bool wait)
{
    if (wait)
        worker_ask(REQUEST_TICKERS, LONGEST_WAIT_NS);
    else
        worker_nudge(REQUEST_TICKERS);
}

void switch_request_drain(void)
{
    worker_nudge(REQUEST_DRAIN);
}
