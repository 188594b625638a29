/* Sinks: the outputs of intervals. Only the interval thread calls a sink: a slow one lengthens intervals, but never
 * delays the program. It runs without libc: raw system calls (sys.h), no errno, no malloc, no stdio, descriptors in the
 * interval thread's own table. A sink that needs libc starts its own thread in `open` and passes the intervals to
 * it. */
#ifndef EKG_SINK_H
#define EKG_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "appekg.h"
#include "buffer.h"
#include "launch.h"

/* Settings from the environment, then from the program's options (docs/use/appekg.md lists them). */
struct config {
    char directory[PATH_MAX]; /* or empty for the default name */
    char sinks[256];          /* names, comma-separated */
    uint64_t interval_ns;
    uint32_t factor;   /* for ids without their own */
    uint64_t overhead; /* EKG_OVERHEAD, in billionths of a percent: limit of a beat's cost; 0: unlimited */
    bool start_off;
    bool monotonic; /* EKG_CLOCK=monotonic: do not use the counter */
    bool disabled;
    bool nvtx; /* EKG_NVTX: beats are ranges of NVTX, too */
};

/* Read both, once the log level is set. An invalid value prints one line that names it, and the default is used.
 * `options` may be NULL. Not thread-safe (getenv). */
void config_read(struct config *config, const struct ekg_options *options);

/* The beats of an id in one thread and interval (docs/reference/formats.md, columns). */
struct row {
    uint32_t thread, id;
    int32_t tid;
    bool first; /* of its thread */
    uint64_t count, pulses;
    uint64_t sum_ns, min_ns, max_ns;
    double sumsq_ns2;
    uint64_t nested_ns;
    uint64_t open, open_ns;
    uint64_t executions;
};

/* One interval. Times since `start_ns` of the session. */
struct snapshot {
    uint64_t number;
    uint64_t start_ns, end_ns;
    const struct row *rows;
    size_t count;
    uint64_t threads, dropped, unmatched, abandoned, own_ns; /* as in the #interval line */
    const char *clock;
    bool enabled; /* at the end of the interval */
};

/* The process that produces the heartbeats. Valid for its life. */
struct session {
    const struct config *config;
    const struct launch *launch;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    bool forked;
};

struct sink {
    const char *name; /* as in EKG_SINK */
    /* In an application's thread, at the start and in a forked child after its first beat. False after one line on
     * stderr: the sink is not used. */
    bool (*open)(const struct session *session);
    /* Writes one interval. The sink handles failures itself: one line on stderr, once, and a count in its output. */
    void (*write)(const struct snapshot *snapshot);
    /* Called after the last interval, unless the program is killed. Must be bounded: the program may be waiting. */
    void (*close)(const struct snapshot *last);
    /* In a forked child: forgets the parent's resources without closing them. May be NULL. */
    void (*forget)(void);
};

extern const struct sink sink_file, sink_prometheus, sink_ldms;

/* Heartbeats summed over threads, for metrics collectors, because a series per thread would be too many.
 *
 * Async-signal-safe (memory by mmap); not thread-safe: each has one user, the interval thread. */
struct id_sum {
    uint32_t id;
    /* Of the last added interval. */
    uint32_t threads; /* with the id */
    uint64_t count, pulses;
    uint64_t sum_ns, mean_ns, min_ns, max_ns;
    double sumsq_ns2;
    uint64_t nested_ns;
    uint64_t open;
    uint64_t open_ns;        /* of the oldest open beat */
    uint64_t open_total_ns;  /* sum of the oldest ones of all threads */
    uint64_t executions;     /* of beats and pulses, including skipped ones */
    uint64_t open_before_ns; /* open_total_ns of the interval before */
    /* Since the start. */
    uint64_t all_count, all_pulses;
    uint64_t all_executions;
    uint64_t all_sum_ns;
    uint64_t all_busy_ns; /* time in beats, ended or not, summed over threads */
};

struct id_sums {
    struct buffer sums;  /* of struct id_sum, in order of first appearance */
    struct buffer order; /* of struct id_place, in order of id */
    size_t most;         /* limit of the ids; later ones are left out */
    uint64_t left_out;   /* rows of the last interval whose id is left out */
};

size_t id_sums_count(const struct id_sums *sums);

/* Return the n-th in order of id. */
const struct id_sum *id_sums_at(const struct id_sums *sums, size_t n);

/* Add an interval. */
void id_sums_add(struct id_sums *sums, const struct snapshot *snapshot);

void id_sums_free(struct id_sums *sums);

/* Numbers as text, without libc: for the interval thread. */

/* Append a non-negative number: exact below 2^64; above, with that many digits and an exponent. */
static inline void put_double(struct buffer *out, double value)
{
    uint64_t exponent = 0;
    for (; value >= 1.8e19; exponent++)
        value /= 10;
    buffer_decimal(out, (uint64_t)(value + 0.5));
    if (exponent == 0)
        return;
    buffer_u8(out, 'e');
    buffer_decimal(out, exponent);
}

/* An interval as a JSON object, for message-based collectors (docs/use/appekg.md lists its members). */

/* Append the object. `lost`: intervals that have not reached the collector so far. Ids without data in this interval
 * are omitted. For the interval thread. */
void interval_json(struct buffer *out, const struct session *session, const struct snapshot *snapshot,
                   const struct id_sums *sums, uint64_t lost);

/* Heartbeats in Prometheus' text exposition format (docs/use/appekg.md lists the metrics). */

/* Totals of the process since its start. */
struct process_totals {
    uint64_t intervals, dropped, unmatched, abandoned, write_failures;
    uint64_t own_ns;
};

/* Append ,key="value", escaped; without the comma at the beginning. Invalid UTF-8 becomes question marks. */
void prometheus_label(struct buffer *labels, const char *key, const char *value);

/* Write a complete file. `labels`: those of every sample; `launch`: the launch's identity. For the interval thread. */
void prometheus_text(struct buffer *out, const struct buffer *labels, const char *launch,
                     const struct process_totals *totals, const struct id_sums *sums, const struct snapshot *snapshot);

#endif
