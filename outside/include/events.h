/* Events that can be sampled: a table of their names, sources and column contents. */
#ifndef OUTSIDE_EVENTS_H
#define OUTSIDE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PER_INTERVAL: growth in the interval. LEVEL: current value. SHARE: growth in nanoseconds over the interval's length.
 * RATIO: growth of one column over that of another. ENERGY: growth in nanojoules over the interval's length, that is,
 * watts. WATTS: current power. */
enum kind { PER_INTERVAL, LEVEL, SHARE, RATIO, ENERGY, WATTS };

enum source { FROM_PERF, FROM_PROC, FROM_SENSOR, FROM_UNCORE, DERIVED };

/* Fields in /proc, of a program and its children or of the machine. CPU times are in nanoseconds. */
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
    uint64_t config; /* perf's, a field of FROM_PROC, the number of a sensor, or whether FROM_UNCORE are writes */
    bool by_default;
    const char *description;
};

#define MOST_COLUMNS 160

/* Add the events of a comma-separated list to `chosen`, in its order and each once: names, `all`, `default`, `node`,
 * rNNN. Returns NULL, or the first invalid item of the list, which ends at the next comma. Not thread-safe: raw events
 * are in static memory. */
const char *events_choose(const char *list, const struct event **chosen, size_t *count);

/* Return the event of a name, or NULL. Thread-safe. */
const struct event *event_named(const char *name);

/* Return the kernel's own machine-wide field that replaces this event if perf is not permitted, or FIELDS if there is
 * none. Thread-safe. */
enum field event_stand_in(const struct event *event);

/* Return the name of a kind, for the file's reader. Thread-safe. */
const char *kind_name(enum kind kind);

/* Return the numerator and denominator of a RATIO. Thread-safe. */
void event_parts(const struct event *ratio, const struct event *parts[2]);

/* Return whether the event occurs only in kernel mode, so that a user-mode counter reads 0. Thread-safe. */
bool event_is_of_kernel(const struct event *event);

#endif
