/* CLOCK_MONOTONIC at half the cost: computed from the processor's counter, if the kernel itself uses that as its clock
 * source. The writing thread keeps the two synchronised.
 *
 * clock_now_ns is async-signal-safe and thread-safe. */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stdint.h>

#include "sys.h"

/* A segment of time with a constant length of the counter's tick. */
struct stretch {
    uint64_t ticks, ns; /* at its beginning */
    uint64_t length;    /* of a tick, in 2^-32 ns */
};

extern const struct stretch *clock_stretch; /* NULL: the counter is not used */

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static inline uint64_t clock_ns_of(const struct stretch *stretch, uint64_t ticks)
{
    int64_t passed = (int64_t)(ticks - stretch->ticks);
    return passed < 0 ? stretch->ns : stretch->ns + (uint64_t)((unsigned __int128)passed * stretch->length >> 32);
}

static inline uint64_t clock_now_ns(void)
{
    const struct stretch *stretch = __atomic_load_n(&clock_stretch, __ATOMIC_ACQUIRE);
    return stretch == NULL ? monotonic_ns() : clock_ns_of(stretch, clock_counter());
}

/* Before main: check whether the counter is usable, and start to calibrate it. Not thread-safe. */
void clock_prepare(void);

/* Some time later: start to use it. Not thread-safe. */
void clock_use_counter(void);

/* For the writing thread, several times a second: begin a new segment that corrects the error of the last one, or stop
 * using the counter. */
void clock_adjust(void);

#endif
