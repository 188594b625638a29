/* Images of the stream and of gmon files (docs/reference/formats.md). Collector; async-signal-safe. */
#ifndef INCPROF_STREAM_H
#define INCPROF_STREAM_H

#include <stdint.h>

#include "buffer.h"
#include "interval.h"

enum image_kind {
    IMAGE_GMON,
    IMAGE_METADATA,
    IMAGE_INTERVAL,
    IMAGE_PROFILE,
    IMAGE_LIBRARY,
    IMAGE_MODULES,
    IMAGE_NODES,
    IMAGE_SAMPLES,
    IMAGE_END,
    IMAGE_WAITS = 9,
    IMAGE_IO = 11,
    IMAGE_COUNTERS = 12,
    IMAGE_DEVICE = 13
};

/* The counters of an interval, in the order of the format. */
struct interval_record {
    uint64_t start_ns, end_ns, cpu_ns, thread_ns, collector_ns, handler_ns;
    uint64_t samples, ticks, profiler_ticks, lost, broken, threads, skipped, shortened;
    uint64_t dropped; /* intervals before this one that were dropped for lack of room */
    uint64_t
        suspended; /* nanoseconds before its start in which the process was stopped, including the machine's sleep */
    uint64_t event_ns;   /* the part of handler_ns outside the signal handler */
    uint64_t delayed_ns; /* of the first thread, ready to run without a processor */
};

/* Start an image; stream_end_image fills in its length. */
size_t stream_begin_image(struct buffer *out, enum image_kind kind, uint16_t module, uint32_t number);
void stream_end_image(struct buffer *out, size_t start);

/* Append all images of the interval. `first_module`: number of the first module not written yet. */
void stream_interval(struct buffer *out, struct interval *interval, const struct interval_record *record,
                     uint64_t rate_hz, size_t first_module);

/* Append the gmon records of a module: own time, library time or both, and (unless library time alone) its arcs. */
enum profile_part { PART_OWN = 1, PART_LIBRARY = 2 };
void stream_profile(struct buffer *out, const struct interval *interval, const struct module *module, uint64_t rate_hz,
                    unsigned int parts);

#endif
