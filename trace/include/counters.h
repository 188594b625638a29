/* What is read at each MPI call: counters of a thread's work, and the time. */
#ifndef TRACE_COUNTERS_H
#define TRACE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys.h"

/* Counters of a thread's work between two MPI calls: instructions and cache misses in user mode, by perf_event_open. If
 * the kernel permits none, nothing is counted, at no cost.
 *
 * If programs may read the processor's counters (rdpmc), they are read from the page shared by the kernel, without a
 * system call, and no descriptor stays open. Otherwise they are read by read(2), with one close-on-exec descriptor per
 * thread, numbered far above the program's. Its identity is verified before each read, because the program may have
 * closed it and reused its number.
 *
 * A thread's counters are for that thread. Only counters_read is async-signal-safe. */

#define MOST_COUNTERS 2

/* idle_ns: time on the processor during which the counters were multiplexed to other events. */
struct reading {
    uint64_t value[MOST_COUNTERS];
    uint64_t idle_ns;
    bool is_valid;
};

/* In memory that is empty in a forked child, because the kernel does not share the pages with it. */
struct counters {
    bool is_counting;
    const struct perf_event_mmap_page *pages[MOST_COUNTERS];
    int fd; /* of the first counter, which reads all; -1 if the pages are read */
    uint64_t id;
};

/* Before main: read INCPROF_TRACE_COUNTERS. Not thread-safe. */
void counters_configure(void);

/* Before the first lane: determine which of them the kernel counts. Not thread-safe. */
void counters_choose(void);

/* Return the number of counters, their names, and the reason if there are none: a name such as ENOENT, or "off". */
uint32_t counters_count(void);
const char *counters_name(uint32_t number);
const char *counters_missing(void);

/* Create the calling thread's counters; NULL if nothing is counted. */
struct counters *counters_new(void);
void counters_open(struct counters *counters);
void counters_close(struct counters *counters);

/* Read the calling thread's counters, since they were opened. */
struct reading counters_read(struct counters *counters);

/* CLOCK_MONOTONIC at half the cost: computed from the processor's counter, if the kernel itself uses that as its clock
 * source. The writing thread keeps the two synchronised.
 *
 * clock_now_ns is async-signal-safe and thread-safe. */

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
