/* Thread safety: clock_start writes all of it before the interval thread exists (or with the first beat kept waiting);
 * from then on only that thread does, except `distrusted`, which is atomic and set by any thread. clock_is_counter is
 * read by all. No locks. */
#define _GNU_SOURCE
#include "clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define SHORTEST_CHECK_NS 100000000u /* below, the two clocks are not read closely enough for a comparison */
#define LARGEST_DRIFT 1e-3           /* NTP slews CLOCK_MONOTONIC by 5e-4 at most */

bool clock_is_counter;

static struct moment first, last;
static double ns_per_tick = 1.0;
static bool distrusted;

#ifdef EKG_FAKE_CLOCK
uint64_t ekg_fake_ns;
#endif

static bool counter_is_invariant(void)
{
#if defined(EKG_FAKE_CLOCK)
    return true;
#elif defined(__x86_64__)
    unsigned int a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#elif defined(__aarch64__)
    return true; /* guaranteed by the architecture */
#else
    return false;
#endif
}

struct moment clock_moment(void)
{
#ifdef EKG_FAKE_CLOCK
    return (struct moment){clock_ticks(), clock_ticks()};
#else
    if (clock_is_counter)
        return moment_now(clock_counter);
    uint64_t ns = monotonic_ns();
    return (struct moment){ns, ns};
#endif
}

void clock_start(bool monotonic)
{
    clock_is_counter = !monotonic && counter_is_invariant();
    __atomic_store_n(&distrusted, false, __ATOMIC_RELAXED);
    ns_per_tick = 1.0;
    first = last = clock_moment();
}

static double rate_between(struct moment from, struct moment to)
{
    return to.ticks > from.ticks ? (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks) : 0;
}

/* Return whether the last segment's rate equals that of the whole time; it may differ after a suspension or migration
 * of the machine. */
static bool agrees(struct moment now)
{
    double recent = rate_between(last, now);
    double whole = rate_between(first, now);
    if (__atomic_load_n(&distrusted, __ATOMIC_RELAXED) || now.ticks < last.ticks)
        return false;
    if (now.ns - last.ns < SHORTEST_CHECK_NS || last.ns - first.ns < SHORTEST_CHECK_NS)
        return true;
    return recent > whole * (1 - LARGEST_DRIFT) && recent < whole * (1 + LARGEST_DRIFT);
}

bool clock_check(struct moment now)
{
    if (!clock_is_counter)
        return true;
    if (!agrees(now))
        return false;
    if (now.ticks > first.ticks)
        ns_per_tick = rate_between(first, now);
    if (now.ns - last.ns >= SHORTEST_CHECK_NS)
        last = now;
    return true;
}

void clock_fall_back(void)
{
    __atomic_store_n(&clock_is_counter, false, __ATOMIC_RELEASE);
}

void clock_distrust(void)
{
    __atomic_store_n(&distrusted, true, __ATOMIC_RELAXED);
}

double clock_ns_per_tick(void)
{
    return clock_is_counter ? ns_per_tick : 1.0;
}

const char *clock_name(void)
{
    if (!clock_is_counter)
        return "monotonic";
#if defined(__aarch64__)
    return "counter";
#else
    return "tsc";
#endif
}
