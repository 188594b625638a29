/* The time of CLOCK_MONOTONIC at half its price: from the processor's counter, where the kernel itself keeps time by
 * it. The writing thread holds the two together.
 *
 * clock_now_ns is async-signal-safe and thread-safe. */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stdint.h>

#include "sys.h"

/* A stretch of time in which a tick of the counter has one length. */
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

/* Before main: looks whether the counter can be used, and begins to measure it. Not thread-safe. */
void clock_prepare(void);

/* Some time later: uses it from here on. Not thread-safe. */
void clock_use_counter(void);

/* By the writing thread, several times a second: a new stretch, in which what the last one was wrong by is made good;
 * or the end of using the counter. */
void clock_adjust(void);

#endif
