/* What can be sampled: a table of names, where each comes from, and what its column says. */
#ifndef SAMPLER_EVENTS_H
#define SAMPLER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PER_INTERVAL: how much it grew. LEVEL: what it is now. SHARE: growth in nanoseconds over the interval's length.
 * RATIO: growth of one column over that of another. ENERGY: growth in nanojoules over the interval's length, which is
 * watts. WATTS: what they are now. */
enum kind { PER_INTERVAL, LEVEL, SHARE, RATIO, ENERGY, WATTS };

enum source { FROM_PERF, FROM_PROC, FROM_SENSOR, DERIVED };

/* What /proc has, of a program and its children or of the machine. CPU times are in nanoseconds. */
enum field {
    CPU_NS,
    USER_NS,
    SYSTEM_NS,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    RESIDENT,
    READ_BYTES,
    WRITTEN_BYTES,
    DISK_READ_BYTES,
    DISK_WRITTEN_BYTES,
    ACTIVE_CPUS,
    RUNNING_THREADS,
    RUN_QUEUE,
    RECEIVED_BYTES,
    RECEIVED_PACKETS,
    SENT_BYTES,
    SENT_PACKETS,
    LOOPBACK_BYTES,
    WAITING_FOR_IO_NS,
    INTERRUPTS,
    SWITCHES,
    FAULTS,
    MEMORY_BYTES,
    FIELDS
};

struct event {
    const char *name;
    enum kind kind;
    enum source source;
    uint32_t type;   /* perf's, of FROM_PERF */
    uint64_t config; /* perf's, a field of FROM_PROC, or the number of a sensor */
    bool by_default;
    const char *says;
};

#define MOST_COLUMNS 160

/* Adds the events of a list with commas to `chosen`, in its order and each once: names, `all`, `default`, `node`, rNNN.
 * NULL, or what of the list is no event, which ends at the next comma. Not thread-safe: raw events are kept in static
 * memory.
 */
const char *events_choose(const char *list, const struct event **chosen, size_t *count);

/* The event of a name, or NULL. Thread-safe. */
const struct event *event_named(const char *name);

/* What the kernel counts of the whole machine where perf is not permitted to count this event: a field, or FIELDS.
 * Thread-safe. */
enum field event_stand_in(const struct event *event);

/* What tells a reader how the numbers of a kind are meant. Thread-safe. */
const char *kind_name(enum kind kind);

/* Numerator and denominator of a RATIO. Thread-safe. */
void event_parts(const struct event *ratio, const struct event *parts[2]);

/* Whether the kernel counts it in its own code only, so that a counter of user mode says 0. Thread-safe. */
bool event_is_of_kernel(const struct event *event);

#endif
