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
    /* Of groups of events. */
    COUNTER_TASK_CLOCK, /* ns of CPU time during which the group was open */
    COUNTER_MIGRATIONS,
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_REFERENCES,
    COUNTER_CACHE_MISSES,
    COUNTER_BRANCH_MISSES,
    /* Intel's top-down method. */
    COUNTER_SLOTS,
    COUNTER_RETIRING,
    COUNTER_BAD_SPECULATION,
    COUNTER_FRONTEND,
    COUNTER_BACKEND,
    COUNTER_MEMORY,
    /* Intel's floating-point instructions, by the values in a register. */
    COUNTER_DOUBLE_1,
    COUNTER_DOUBLE_2,
    COUNTER_DOUBLE_4,
    COUNTER_DOUBLE_8,
    COUNTER_SINGLE_1,
    COUNTER_SINGLE_4,
    COUNTER_SINGLE_8,
    COUNTER_SINGLE_16,
    /* AMD: operations, and Zen 4's top-down method. */
    COUNTER_OPERATIONS,
    COUNTER_RETIRED,
    COUNTER_DISPATCHED,
    COUNTER_NO_INSTRUCTIONS,
    COUNTER_BACKEND_STALLS,
    /* Intel's top-down method, level 2, from Sapphire Rapids on; the slots lost to memory are above. */
    COUNTER_HEAVY,
    COUNTER_MISPREDICTED,
    COUNTER_FETCH_LATENCY,
    /* Zen 4's level 2: cycles in which nothing retires, in all, and because of a load. */
    COUNTER_NOT_COMPLETE,
    COUNTER_LOAD_NOT_COMPLETE,
    /* Arm's top-down method. The first is cycles times the slots of a cycle. */
    COUNTER_ARM_SLOTS,
    COUNTER_FRONTEND_STALLED,
    COUNTER_BACKEND_STALLED,
    COUNTER_OPERATIONS_RETIRED,
    COUNTER_OPERATIONS_SPECULATED,
    /* Of the node: microjoules of the processors' packages and memory in the interval. */
    COUNTER_ENERGY,
    COUNTER_NUMBERS
};

struct counter_values {
    uint64_t value[COUNTER_NUMBERS];
    uint64_t present; /* bit n: value n is present */
};

enum { EVENTS = COUNTER_ENERGY - COUNTER_TASK_CLOCK, EVENT_GROUPS = 5 };

struct thread_events {
    pid_t tid;      /* the thread they count, or 0 */
    int fd[EVENTS]; /* the first one of a group leads it; -1: not counted */
    uint64_t value[EVENTS];
    uint64_t enabled[EVENT_GROUPS], running[EVENT_GROUPS];
};

#endif
