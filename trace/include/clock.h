/* CLOCK_MONOTONIC at half the cost: computed from the processor's counter, if the kernel itself uses that as its clock
 * source. The writing thread keeps the two synchronised.
 *
 * clock_now_ns is async-signal-safe and thread-safe. */
#ifndef TRACE_CLOCK_H
#define TRACE_CLOCK_H

#include <stdint.h>

#include "sys.h"

/* A segment of time with a constant length of the counter's tick. */
struct segment {
    uint64_t ticks, ns; /* at its beginning */
    uint64_t length;    /* of a tick, in 2^-32 ns */
};

extern const struct segment *clock_segment; /* NULL: the counter is not used */

static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static inline uint64_t clock_ns_of(const struct segment *segment, uint64_t ticks)
{
    int64_t passed = (int64_t)(ticks - segment->ticks);
    return passed < 0 ? segment->ns : segment->ns + (uint64_t)((unsigned __int128)passed * segment->length >> 32);
}

static inline uint64_t clock_now_ns(void)
{
    const struct segment *segment = __atomic_load_n(&clock_segment, __ATOMIC_ACQUIRE);
    return segment == NULL ? monotonic_ns() : clock_ns_of(segment, clock_counter());
}

/* Before main: check whether the counter is usable, and start to calibrate it. Not thread-safe. */
void clock_prepare(void);

/* Some time later: start to use it. Not thread-safe. */
void clock_use_counter(void);

/* For the writing thread, several times a second: begin a new segment that corrects the error of the last one, or stop
 * using the counter. */
void clock_adjust(void);

#endif
