/* Heartbeats summed over threads: what collectors get, for whom a series per thread would be too many.
 *
 * Async-signal-safe (memory by mmap); not thread-safe: each has one user, the interval thread. */
#ifndef EKG_ID_SUMS_H
#define EKG_ID_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "sink.h"

struct id_sum {
    uint32_t id;
    /* Of the last interval that was added. */
    uint32_t threads; /* that had the id */
    uint64_t count, pulses;
    uint64_t sum_ns, mean_ns, min_ns, max_ns;
    double sumsq_ns2;
    uint64_t nested_ns;
    uint64_t open;
    uint64_t open_ns;        /* of the oldest open beat */
    uint64_t open_total_ns;  /* of the oldest of each thread, together */
    uint64_t executions;     /* of beats and pulses, with those that were skipped */
    uint64_t open_before_ns; /* open_total_ns of the interval before */
    /* Since the start. */
    uint64_t all_count, all_pulses;
    uint64_t all_executions;
    uint64_t all_sum_ns;
    uint64_t all_busy_ns; /* that passed in beats, ended or not; threads add up */
};

struct id_sums {
    struct buffer sums;  /* of struct id_sum, in order of first appearance */
    struct buffer order; /* of struct id_place, in order of id */
    size_t most;         /* ids; later ones are left out */
    uint64_t left_out;   /* rows of the last interval whose id is */
};

size_t id_sums_count(const struct id_sums *sums);

/* The n-th in order of id. */
const struct id_sum *id_sums_at(const struct id_sums *sums, size_t n);

/* Adds an interval. */
void id_sums_add(struct id_sums *sums, const struct snapshot *snapshot);

void id_sums_free(struct id_sums *sums);

#endif
