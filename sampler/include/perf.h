/* Counters of perf_event_open: one event, of all threads of a program and its children, of a process, or of the
 * machine. Each has descriptors of its own, never a group: the kernel gives no group's values with those of children.
 */
#ifndef SAMPLER_PERF_H
#define SAMPLER_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum scope {
    OF_PROGRAM, /* one that is about to be executed */
    OF_PROCESS, /* one that runs */
    OF_MACHINE
};

struct target {
    enum scope scope;
    pid_t pid;
};

struct descriptor {
    int fd;
    uint64_t value, enabled, running; /* as read last */
};

struct counter {
    struct descriptor *descriptors;
    size_t count;
    bool has_begun;
    double total;            /* since it was read first, scaled where the counter was shared */
    double enabled, running; /* times that it should have been, and was counted */
    bool user_only;          /* without what the kernel does */
};

/* Opens descriptors for each thread or processor. `of_kernel`: the event means nothing without the kernel's mode. 0 or
 * negative errno, and then nothing is left open. Allocates; not async-signal-safe; thread-safe for different counters.
 */
int counter_open(struct counter *counter, uint32_t type, uint64_t config, bool of_kernel, struct target target);

/* Adds what was counted since the last time. False if a part was not counted at all, because others had the
 * processor's counters: then it is added the next time. No allocation; async-signal-safe; one thread at a time. */
bool counter_read(struct counter *counter);

void counter_close(struct counter *counter);

#endif
