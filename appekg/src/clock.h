/* Time stamps: the processor's counter if it is reliable, otherwise CLOCK_MONOTONIC.
 *
 * The interval thread calibrates the counter over the whole time since the start, and checks it each time. Durations
 * are stored in ticks, and converted to nanoseconds when an interval is taken. Reading is async-signal-safe and
 * thread-safe; the rest is for the interval thread (clock_start: before it exists). */
#ifndef EKG_CLOCK_H
#define EKG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "appekg.h"
#include "sys.h"

extern bool clock_is_counter;

static inline uint64_t clock_counter(void)
{
    return ekg_counter_();
}

static inline uint64_t clock_ticks(void)
{
    return __atomic_load_n(&clock_is_counter, __ATOMIC_RELAXED) ? clock_counter() : monotonic_ns();
}

struct moment clock_moment(void);

/* Choose the clock: the counter if the processor reports a constant rate, unless `monotonic`. */
void clock_start(bool monotonic);

/* Add a time to the calibration. False if the counter is no longer reliable. */
bool clock_check(struct moment now);

/* Switch to CLOCK_MONOTONIC: earlier time stamps must not be combined with later ones. */
void clock_fall_back(void);

/* Record that the counter ran backwards. Async-signal-safe and thread-safe. */
void clock_distrust(void);

double clock_ns_per_tick(void);
const char *clock_name(void);

#endif
