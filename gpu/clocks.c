/* Times of devices as CLOCK_MONOTONIC. A device's time that was read, or noted by a command, between two of ours bounds
 * the difference; the intersection of bounds gives it to within the shortest call. Clocks drift: an empty intersection
 * starts anew with the last bound. Without a bound, the device's clock is ours.
 *
 * Thread safety: a lane's functions by one thread at a time, or under the lock. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define PERIOD_NS ((uint64_t)50000000)
#define WIDE_NS 20000
#define JITTER_NS 50000
#define SLACK_NS ((uint64_t)1000000000) /* by which clocks may differ */

static struct {
    int64_t low_ns, high_ns; /* of our time less the device's */
    uint64_t measured_ns;
    bool is_known;
} clocks[MOST_DEVICES];
static uint64_t earliest_ns, latest_ns; /* times of records; under the lock */

void clock_bound(unsigned lane, uint64_t device_ns, uint64_t before_ns, uint64_t after_ns)
{
    int64_t low = (int64_t)(before_ns - device_ns), high = (int64_t)(after_ns - device_ns);
    if (clocks[lane].is_known) {
        int64_t old_low = clocks[lane].low_ns, old_high = clocks[lane].high_ns;
        if (low <= old_high && high >= old_low) {
            low = low > old_low ? low : old_low;
            high = high < old_high ? high : old_high;
        }
    }
    clocks[lane].low_ns = low;
    clocks[lane].high_ns = high;
    clocks[lane].measured_ns = after_ns;
    clocks[lane].is_known = true;
}

bool clock_is_due(unsigned lane, uint64_t now_ns)
{
    return !clocks[lane].is_known || clocks[lane].high_ns - clocks[lane].low_ns > WIDE_NS ||
           now_ns - clocks[lane].measured_ns > PERIOD_NS;
}

uint64_t clock_convert(unsigned lane, uint64_t device_ns)
{
    return device_ns + (uint64_t)(clocks[lane].low_ns + (clocks[lane].high_ns - clocks[lane].low_ns) / 2);
}

void clock_measure(int (*read)(uint64_t *ns))
{
    uint64_t device_ns = 0, before_ns = monotonic_ns();
    bool is_read = read != NULL && read(&device_ns) == 0;
    uint64_t after_ns = monotonic_ns(), mask = gpu_lock(), now_ns = clock_convert(0, device_ns);
    latest_ns = after_ns + SLACK_NS;
    if (earliest_ns == 0)
        earliest_ns = before_ns > SLACK_NS ? before_ns - SLACK_NS : 1;
    /* It differs by a constant, which changes when the machine sleeps: one that is about right is kept. */
    if (is_read && (now_ns + JITTER_NS < before_ns || now_ns > after_ns + JITTER_NS))
        clock_bound(0, device_ns, before_ns, after_ns);
    gpu_unlock(mask);
}

bool clock_times(struct device_work *work, uint64_t start_ns, uint64_t end_ns)
{
    work->start_ns = clock_convert(0, start_ns);
    work->end_ns = clock_convert(0, end_ns);
    return start_ns != 0 && work->start_ns >= earliest_ns && work->end_ns >= work->start_ns &&
           work->end_ns <= latest_ns;
}
