/* The counters of an interval, by their numbers in the format (docs/reference/formats.md, kind 12), and the state of a
 * thread's hardware events. Plain data. */
#ifndef INCPROF_COUNTER_VALUES_H
#define INCPROF_COUNTER_VALUES_H

#include <stdint.h>
#include <sys/types.h>

enum counter {
    COUNTER_MINOR_FAULTS = 1,
    COUNTER_MAJOR_FAULTS,
    COUNTER_VOLUNTARY_SWITCHES,
    COUNTER_INVOLUNTARY_SWITCHES,
    COUNTER_USER_NS,
    COUNTER_SYSTEM_NS,
    COUNTER_RESIDENT, /* bytes at the end of the interval */
    COUNTER_PEAK,     /* largest number of resident bytes of the run so far */
    /* Of a group of events. */
    COUNTER_TASK_CLOCK, /* ns of CPU time during which the group was open */
    COUNTER_MIGRATIONS,
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_REFERENCES,
    COUNTER_CACHE_MISSES,
    COUNTER_BRANCH_MISSES,
    COUNTER_NUMBERS
};

struct counter_values {
    uint64_t value[COUNTER_NUMBERS];
    uint64_t known; /* bit n: value n is known */
};

enum { GROUP_EVENTS = COUNTER_NUMBERS - COUNTER_TASK_CLOCK };

struct thread_events {
    pid_t tid;            /* the thread they count, or 0 */
    int fd[GROUP_EVENTS]; /* the first one leads the group; -1: not counted */
    uint64_t value[GROUP_EVENTS];
    uint64_t enabled, running;
};

#endif
