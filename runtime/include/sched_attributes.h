/* Attributes of scheduling, which the headers of C libraries lack, and the slice of threads that must run on time. */
#ifndef RUNTIME_SCHED_ATTRIBUTES_H
#define RUNTIME_SCHED_ATTRIBUTES_H

#include <stdint.h>

struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Threads and processes that it creates are ordinary ones. */
#define SCHED_RESET_ON_FORKS 1

/* The shortest slice of ordinary scheduling. A thread that wakes up with it interrupts others with longer ones (since
 * Linux 6.12; no effect before). */
#define SHORT_SLICE_NS 100000

#endif
