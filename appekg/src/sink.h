/* Where intervals go. A sink is called by the interval thread alone: it may take its time, but what it costs is paid in
 * the length of intervals, never by the program. It runs without libc's help: raw system calls (sys.h), no errno, no
 * malloc, no stdio, descriptors of the interval thread's own table. A sink that cannot do without libc starts a thread
 * of its own in `open` and hands the intervals over. */
#ifndef EKG_SINK_H
#define EKG_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "launch.h"

/* What a thread did with an id in one interval (docs/formats.md, columns). */
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

/* The process whose heartbeats these are. Lives as long as it does. */
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
    /* One interval. Failures are the sink's own affair: one line on stderr, once, and a count in its output. */
    void (*write)(const struct snapshot *snapshot);
    /* After the last interval; not when the program is killed. Bounded: the program may be waiting. */
    void (*close)(const struct snapshot *last);
    /* In a forked child: what the parent's sink held is forgotten, not closed. May be NULL. */
    void (*forget)(void);
};

extern const struct sink sink_file, sink_prometheus, sink_ldms;

#endif
