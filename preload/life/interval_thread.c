/* Thread safety: the two periods are written before the thread starts; `is_parked` belongs to it. `is_leaving` is
 * atomic: the thread sets it, and the application's thread whose exec has failed clears it. It holds the collector's
 * lock for each drain, write or request, but not while waiting for the next. */
#define _GNU_SOURCE
#include "collection.h"

#include "log.h"
#include "sampler.h"
#include "switch.h"
#include "sys.h"
#include "thread_life.h"
#include "ticker.h"
#include "waits.h"
#include "worker.h"

#define LONGEST_DRAIN_NS ((uint64_t)100 * 1000000)
#define NO_TIMEOUT_NS (UINT64_MAX / 4)

static uint64_t interval_ns, drain_ns;
static bool is_parked;
static bool is_leaving; /* exec is under way: the data is written, with an end record */

/* Prepare for an exec. A launcher that has restricted itself may still execute the actual program. */
static void finish(void)
{
    bool is_blank = collection_is_blank();
    collection_close();
    if (!is_blank)
        collection_report();
}

static void serve(uint32_t request)
{
    switch (request) {
    case REQUEST_STOP:
    case WORKER_END:
        thread_stop_all();
        collection_close();
        collection_report();
        break;
    case REQUEST_LEAVE:
        thread_stop_all();
        finish();
        break;
    case REQUEST_CLOSE:
        thread_stop_all();
        collection_close();
        break;
    case REQUEST_EXEC: /* which may fail, so nothing is stopped. A program that only execs leaves no file. */
        __atomic_store_n(&is_leaving, true, __ATOMIC_RELAXED);
        collection_drain();
        if (!collection_is_blank())
            collection_close();
        break;
    case REQUEST_FLUSH:
        collection_close_interval();
        break;
    case REQUEST_PARK:
        collection_park();
        is_parked = true;
        break;
    case REQUEST_PAUSE:
    case REQUEST_RESUME:
        collection_pause(request == REQUEST_PAUSE);
        break;
    case REQUEST_SCAN:
        collection_scan();
        break;
    case REQUEST_DRAIN:
        collection_drain();
        break;
    case REQUEST_LOOK_UP:
        collection_look_up();
        break;
    case REQUEST_REMAP:
        collection_remap();
        break;
    case REQUEST_TICKERS:
        ticker_assign();
        break;
    default:
        break;
    }
}

static void open_early(void)
{
    collector_lock_acquire(NO_TIMEOUT_NS);
    if (switch_is_on()) {
        collection_resume();
        collection_open_early(true);
    }
    collector_lock_release();
}

static void close_interval(void)
{
    if (__atomic_load_n(&is_leaving, __ATOMIC_RELAXED))
        return;
    collection_close_interval();
    suspension_note();
}

/* Return whether the process was stopped when this thread was to wake; the open interval has then ended. */
static bool was_suspended(uint64_t due_ns, uint64_t now_ns)
{
    uint64_t until_ns;
    return suspension_before(due_ns, now_ns, &until_ns) && switch_is_on() &&
           !__atomic_load_n(&is_leaving, __ATOMIC_RELAXED) && collection_exclude(due_ns, until_ns);
}

static uint64_t earliest(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns < other_ns ? one_ns : other_ns;
}

static uint64_t latest(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns > other_ns ? one_ns : other_ns;
}

/* Return when to drain: with the next samples of waits, if these are due within another period. To wake up costs more
 * than either. */
static uint64_t drain_due_ns(uint64_t next_drain)
{
    uint64_t waits_ns = waits_due_ns();
    return waits_ns > next_drain && waits_ns - next_drain <= drain_ns ? waits_ns : next_drain;
}

/* Deadlines are on a grid; past ones are skipped after the machine slept or was too busy. */
static void run(void)
{
    uint64_t grid = collection_start_ns() + interval_ns;
    uint64_t next_drain = collection_start_ns() + drain_ns;
    open_early();
    suspension_note();
    while (switch_is_on() && !is_parked) {
        ticker_assign(); /* nudges during another request are lost */
        uint64_t next = earliest(drain_due_ns(next_drain), grid);
        uint64_t other_due = earliest(next, dense_window_due_ns());
        uint64_t due = earliest(other_due, waits_due_ns());
        uint64_t asleep_since = monotonic_ns();
        uint32_t request = worker_wait(due);
        collector_lock_acquire(NO_TIMEOUT_NS);
        /* A stop may follow a fork, which holds the lock. */
        uint64_t ready_since = latest(asleep_since, collector_lock_released_ns());
        bool is_closed = was_suspended(latest(due, ready_since), monotonic_ns());
        uint64_t now = monotonic_ns();
        if (request != 0) {
            serve(request);
        } else if (now >= grid) {
            if (!is_closed)
                close_interval();
            while (grid <= monotonic_ns())
                grid += interval_ns;
            next_drain = now + drain_ns;
        }
        if (request == 0 && now >= next)
            log_follow_stderr();
        /* Once parked, nothing may be opened: the next interval thread does not inherit descriptors. */
        if (switch_is_on() && !is_parked) {
            dense_window_advance(now);
            if (!__atomic_load_n(&is_leaving, __ATOMIC_RELAXED))
                collection_sample_waits(request == 0 && !is_closed && now < other_due);
        }
        if (request == 0 && now >= next_drain) { /* after these samples, which are not to be late */
            collection_drain();
            collection_open_early(false);
            next_drain = now + drain_ns;
        }
        collector_lock_release();
        if (request != 0 && switch_is_on() && !is_parked)
            worker_done();
    }
}

/* Return the drain period, short enough for the rings to hold the samples in between: some 50 per thread, twice as many
 * if the drain waits for the samples of waits. */
static uint64_t drain_period_ns(const struct config *config)
{
    uint64_t period = 50u * (1000000000u / config->rate_hz);
    if (period > LONGEST_DRAIN_NS)
        period = LONGEST_DRAIN_NS;
    return period < config->interval_ns ? period : config->interval_ns;
}

bool interval_thread_start(const struct config *config)
{
    interval_ns = config->interval_ns;
    drain_ns = drain_period_ns(config);
    is_leaving = is_parked = false;
    return worker_start("incprof", run);
}

void interval_thread_resume(void)
{
    __atomic_store_n(&is_leaving, false, __ATOMIC_RELAXED);
}
