/* Counters of perf_event_open: one event, of all threads of a program and its children, of a process, or of the
 * machine. Each has its own descriptors, never a group: the kernel does not support inherited counters in group
 * reads. */
#ifndef OUTSIDE_PERF_COUNTER_H
#define OUTSIDE_PERF_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum scope {
    OF_PROGRAM, /* a program about to be executed */
    OF_PROCESS, /* a running process */
    OF_MACHINE
};

struct target {
    enum scope scope;
    pid_t pid;
};

struct descriptor {
    int fd;
    uint64_t value, enabled, running; /* at the last reading */
};

struct perf_counter {
    struct descriptor *descriptors;
    size_t count;
    bool has_begun;
    double total;            /* since the first reading, scaled if the counter was multiplexed */
    double enabled, running; /* times for which it was to count, and did count */
    bool user_only;          /* without kernel mode */
};

/* Open descriptors for each thread or processor. `of_kernel`: the event has no meaning without kernel mode. Returns 0,
 * or negative errno with nothing left open. Allocates; not async-signal-safe; thread-safe for different counters. */
int counter_open(struct perf_counter *counter, uint32_t type, uint64_t config, bool of_kernel, struct target target);

/* Add a counter of the whole machine, which one processor has. Returns 0 or negative errno. Otherwise as counter_open.
 */
int counter_add_processor(struct perf_counter *counter, uint32_t type, uint64_t config, int processor);

/* Lines of 64 bytes that the node's memory controllers read or write: devices uncore_imc* of Intel, amd_umc_* of AMD.
 */

/* Set the path of /sys. Once, before the others. */
void uncore_below(const char *sysfs);

/* Open counters of all controllers. Returns 0, or negative errno with nothing left open: ENODEV without controllers. As
 * counter_open otherwise. */
int uncore_open(struct perf_counter *counter, bool is_write);

/* Add the count since the last reading. False if a part was not counted at all, because others used the processor's
 * counters: it is then added the next time. No allocation; async-signal-safe; one thread at a time. */
bool counter_read(struct perf_counter *counter);

void counter_close(struct perf_counter *counter);

/* Messages for denials by the kernel: of a counter, a file of /proc, the recording of a process. */

/* Write into `text` why perf_event_open rejected (negative errno) an event of this type; `of_kernel` as for
 * counter_open. Reads /proc. Thread-safe. */
void refusal_of_counter(char *text, size_t size, int error, uint32_t type, bool of_kernel, struct target target);

/* Write into `text` why a file of /proc could not be read. Thread-safe. */
void refusal_of_file(char *text, size_t size, int error, const char *path);

/* Print one line on stderr: why the kernel denies the recording of a process (negative errno), and the remedy. `pid`:
 * of a running process, or 0. */
void refusal_report(int error, pid_t pid);

#endif
