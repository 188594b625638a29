/* Counters of what a thread does between two MPI calls: instructions and cache misses in user mode, by perf_event_open.
 * Nothing is counted, and nothing costs, where the kernel permits none.
 *
 * They are read from the page that the kernel shares, without a system call, where the processor lets programs read
 * its counters (rdpmc); no descriptor is left open then. Else by read(2): one descriptor for each thread, far above
 * those of the program and closed by exec, which is asked who it is before it is read, as the program may have closed
 * it and given its number to something else.
 *
 * A thread's counters are for that thread. None of it is async-signal-safe but counters_read. */
#ifndef TRACE_COUNTERS_H
#define TRACE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define MOST_COUNTERS 2

/* idle_ns: time on the processor in which the counters were lent to other events. */
struct reading {
    uint64_t value[MOST_COUNTERS];
    uint64_t idle_ns;
    bool is_valid;
};

/* In memory that a forked child finds empty: the kernel does not share the pages with it. */
struct counters {
    bool is_counting;
    const struct perf_event_mmap_page *pages[MOST_COUNTERS];
    int fd; /* of the first counter, which reads all; -1 where the pages are read */
    uint64_t id;
};

/* Before main: what INCPROF_TRACE_COUNTERS asks for. Not thread-safe. */
void counters_configure(void);

/* Before there is a lane: which of them the kernel counts. Not thread-safe. */
void counters_choose(void);

/* How many are counted, their names, and why there are none: a name such as ENOENT, or "off". */
uint32_t counters_count(void);
const char *counters_name(uint32_t number);
const char *counters_missing(void);

/* The calling thread's. NULL where nothing is counted. */
struct counters *counters_new(void);
void counters_open(struct counters *counters);
void counters_close(struct counters *counters);

/* Of the calling thread, since they were opened. */
struct reading counters_read(struct counters *counters);

#endif
