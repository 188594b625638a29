/* Each command has the device's time of its enqueueing, which lies between our times before and after the call. The
 * intersection of these bounds gives the offset to within the shortest call. Clocks drift: an empty intersection starts
 * anew with the last bound.
 *
 * Thread safety: by the thread that reads commands, of which there is one at a time (commands.c). */
#include "opencl_layer.h"

#define PERIOD_NS ((uint64_t)50000000)
#define WIDE_NS 20000

static struct {
    int64_t low_ns, high_ns; /* of our time less the device's */
    uint64_t measured_ns;
    bool is_known;
} clocks[MOST_DEVICES];

void device_clock_bound(unsigned lane, uint64_t device_ns, uint64_t before_ns, uint64_t after_ns)
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

bool device_clock_is_due(unsigned lane, uint64_t now_ns)
{
    return !clocks[lane].is_known || clocks[lane].high_ns - clocks[lane].low_ns > WIDE_NS ||
           now_ns - clocks[lane].measured_ns > PERIOD_NS;
}

uint64_t device_clock_convert(unsigned lane, uint64_t device_ns)
{
    return device_ns + (uint64_t)(clocks[lane].low_ns + (clocks[lane].high_ns - clocks[lane].low_ns) / 2);
}
