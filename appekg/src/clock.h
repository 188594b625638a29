/* Time stamps: the processor's counter where it can be trusted, else CLOCK_MONOTONIC.
 *
 * The counter is calibrated by the interval thread, over the whole time since the start, and checked by it each time:
 * durations are kept in ticks and become nanoseconds when an interval is taken. Reading is async-signal-safe and
 * thread-safe; the rest is for the interval thread (clock_start: before it exists). */
#ifndef EKG_CLOCK_H
#define EKG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "appekg.h"
#include "moment.h"

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

/* Chooses the clock: the counter where the processor says that it runs at a constant rate, unless told otherwise. */
void clock_start(bool monotonic);

/* Takes a moment into the calibration. False if the counter cannot be trusted any more. */
bool clock_check(struct moment now);

/* From here on the clock is CLOCK_MONOTONIC: no time stamp of before may meet one of after. */
void clock_fall_back(void);

/* Somebody saw the counter run backwards. Async-signal-safe and thread-safe. */
void clock_distrust(void);

double clock_ns_per_tick(void);
const char *clock_name(void);

#endif
