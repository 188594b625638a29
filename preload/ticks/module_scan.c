/* Thread safety: `wanted`, `next_ns` and `expected` are atomic; any thread sets the first and the last, and reads the
 * second. The rest, and all of modules_scan, belongs to the interval thread, under the collector's lock. */
#define _GNU_SOURCE
#include "module_scan.h"

#include "log.h"
#include "modules.h"
#include "switch.h"
#include "sys.h"
#include "worker.h"

#define SHORTEST_PAUSE_NS ((uint64_t)20 * 1000000)
#define LONGEST_PAUSE_NS (50 * SHORTEST_PAUSE_NS)

static bool wanted;
static uint64_t next_ns;                 /* not before, on CLOCK_MONOTONIC */
static uint64_t pause_ns;                /* interval thread */
static size_t expected;                  /* unmapped ranges */
static bool was_unreadable, is_reported; /* interval thread */

static bool is_time(void)
{
    return monotonic_ns() >= __atomic_load_n(&next_ns, __ATOMIC_RELAXED);
}

static void set_next(uint64_t not_before_ns)
{
    __atomic_store_n(&wanted, false, __ATOMIC_RELAXED);
    __atomic_store_n(&next_ns, not_before_ns, __ATOMIC_RELAXED);
}

void module_scan_request(void)
{
    __atomic_store_n(&wanted, true, __ATOMIC_RELAXED);
    if (is_time())
        worker_notify(REQUEST_SCAN);
}

bool module_scan_is_wanted(void)
{
    return __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

void module_scan_begin(void)
{
    pause_ns = SHORTEST_PAUSE_NS;
    set_next(0);
}

static bool scan(void)
{
    bool changed = modules_scan();
    was_unreadable = was_unreadable || modules_are_unreadable();
    /* Without free descriptors the message may have to wait. */
    if (was_unreadable && !is_reported)
        is_reported =
            log_warn("cannot read /proc/thread-self/maps (see ulimit -n): calls and samples in code that was loaded "
                     "since are of unknown functions",
                     NULL);
    return changed;
}

void module_scan_now(void)
{
    scan();
    pause_ns = SHORTEST_PAUSE_NS;
    set_next(monotonic_ns() + pause_ns);
}

void module_scan_expect(size_t unloaded)
{
    __atomic_store_n(&expected, unloaded, __ATOMIC_RELAXED);
}

void module_scan_after_unload(void)
{
    if (!modules_drop(__atomic_exchange_n(&expected, 0, __ATOMIC_RELAXED)))
        module_scan_now();
}

void module_scan_if_wanted(void)
{
    if (!module_scan_is_wanted() || !is_time())
        return;
    pause_ns = scan() ? SHORTEST_PAUSE_NS : 2 * pause_ns;
    if (pause_ns > LONGEST_PAUSE_NS)
        pause_ns = LONGEST_PAUSE_NS;
    set_next(monotonic_ns() + pause_ns);
}
