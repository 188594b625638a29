/* Thread safety: before the writing thread exists, only the starting thread writes; from then on only the writing
 * thread. It publishes a segment when it is complete, and reuses its memory after some minutes: no reader takes that
 * long. */
#define _GNU_SOURCE
#include "counters.h"

#include <string.h>
#include <sys/prctl.h>

#include "sys.h"

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define SHORTEST_NS 1000000u /* below, the length of a tick is too inaccurate */
#define SEGMENTS 1024u
#define MOST_WRONG_NS 1000000
#define LARGEST_CHANGE 1e-3 /* NTP slews CLOCK_MONOTONIC by 5e-4 at most */

const struct segment *clock_segment;

static struct segment segments[SEGMENTS];
static unsigned int used;
static struct moment first, last;
static bool is_usable;

/* Return whether the kernel uses the counter: it has then compared the processors' counters, and monitors them. */
static bool kernel_uses_it(void)
{
    char name[16] = "";
    int fd = sys_open(SOURCE, O_RDONLY, 0);
    if (fd < 0)
        return false;
    long got = SYS3(SYS_read, fd, name, sizeof name - 1);
    sys_close(fd);
    return got == 4 && memcmp(name, "tsc\n", 4) == 0;
}

void clock_prepare(void)
{
#if defined(__x86_64__)
    int allowed = 0;
    is_usable = kernel_uses_it() && SYS5(SYS_prctl, PR_GET_TSC, &allowed, 0, 0, 0) == 0 && allowed == PR_TSC_ENABLE;
#endif
    if (is_usable)
        first = last = moment_now(clock_counter);
}

static double rate_between(struct moment from, struct moment to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks) : 0;
}

static void begin_clock_segment(uint64_t ns, uint64_t ticks, double rate)
{
    struct segment *segment = &segments[used++ % SEGMENTS];
    *segment = (struct segment){ticks, ns, (uint64_t)(rate * 4294967296.0)};
    __atomic_store_n(&clock_segment, segment, __ATOMIC_RELEASE);
}

void clock_use_counter(void)
{
    struct moment now = is_usable ? moment_now(clock_counter) : first;
    if (!is_usable || now.ns - first.ns < SHORTEST_NS || now.ticks <= first.ticks)
        return;
    last = now;
    begin_clock_segment(now.ns, now.ticks, rate_between(first, now));
}

void clock_adjust(void)
{
    const struct segment *segment = clock_segment;
    struct moment now = segment != NULL ? moment_now(clock_counter) : last;
    if (segment == NULL || now.ns - last.ns < SHORTEST_NS)
        return;
    uint64_t predicted_ns = clock_ns_of(segment, now.ticks);
    int64_t wrong_ns = (int64_t)(now.ns - predicted_ns);
    double whole = rate_between(first, now), recent = rate_between(last, now);
    bool agrees = recent > whole * (1 - LARGEST_CHANGE) && recent < whole * (1 + LARGEST_CHANGE);
    if (!agrees || wrong_ns > MOST_WRONG_NS || wrong_ns < -MOST_WRONG_NS) {
        /* Suspended, or moved to another machine. */
        __atomic_store_n(&clock_segment, NULL, __ATOMIC_RELEASE);
        return;
    }
    double change = (double)wrong_ns / (double)(now.ns - last.ns);
    change = change > LARGEST_CHANGE ? LARGEST_CHANGE : change < -LARGEST_CHANGE ? -LARGEST_CHANGE : change;
    begin_clock_segment(predicted_ns, now.ticks, recent * (1 + change));
    last = now;
}
