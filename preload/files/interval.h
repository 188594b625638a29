/* Contents of the open interval: samples, call paths, histogram blocks and arcs, in link-time addresses.
 *
 * Used by the collector alone, under its lock. Async-signal-safe.
 */
#ifndef INCPROF_INTERVAL_H
#define INCPROF_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "ring.h"
#include "table.h"
#include "thread.h"

/* A block of the histogram grid: 16 bins of 4 bytes. */
#define BLOCK_BINS 16
#define BLOCK_BYTES 64

enum { NODE_BROKEN = 65534, NODE_ELIDED = 65535 }; /* module numbers of marker nodes */

struct path_node {
    uint64_t address;
    uint32_t parent;
    uint32_t module;
};

struct block {
    uint64_t low;
    uint32_t module;
    uint32_t library; /* 1: library time, charged to this caller */
    uint32_t bins[BLOCK_BINS];
};

/* Addresses as in the module; `from` is 0 if the caller is in another module. In code not scanned yet (module
 * NO_MODULE) they are run-time addresses in this process. */
#define NO_MODULE UINT64_MAX
struct call {
    uint64_t self, from;
    uint64_t module;
    uint64_t count;
};

struct interval_sample {
    uint64_t time_ns;
    uint32_t thread, node, weight;
    uint16_t library;
    uint16_t kind;
};

struct interval {
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint32_t number;
    struct table paths; /* of the whole run: path_node, record i is node i + 1; bounded, see interval.c */
    size_t paths_written;
    uint32_t last_path[INNER_FRAMES + OUTER_FRAMES + 2]; /* the nodes of a path, outermost first; 0: none */
    struct table blocks;                                 /* struct block */
    struct table calls;                                  /* struct call */
    struct interval_sample *samples;
    struct interval_sample *spare; /* for sorting */
    size_t sample_count, sample_capacity;
    struct thread_counters totals; /* of the interval */
    uint64_t profiler_ticks;
    uint64_t thread_ns;
    uint32_t threads;
    uint64_t shortened;   /* samples with a truncated path */
    struct buffer io;     /* payload of kind 11 */
    struct buffer images; /* whole images of other folders, which the interval's write contains */
};

void interval_begin(struct interval *interval, uint64_t now_ns, bool keep_totals);
/* Add a sample. `functions`: the modules of its Python frames, or NULL if there are none. */
void interval_add_sample(struct interval *interval, const uint16_t *functions, const struct sample *sample);
/* Return the node of a path of application frames, as that of a sample; only the frames and flags are used. */
uint32_t interval_node(struct interval *interval, const uint16_t *functions, const struct sample *path);
/* Add calls of an arc: the return addresses of the function (`from`) and of its hook (`self`). */
void interval_add_calls(struct interval *interval, uint64_t from, uint64_t self, uint64_t calls);

/* Return whether there are calls in code not scanned yet; the second function resolves them after another scan. */
bool interval_has_new_calls(const struct interval *interval);
void interval_look_up_calls(struct interval *interval);
void interval_sort(struct interval *interval);
void interval_free(struct interval *interval);

/* Return whether the interval contains nothing worth a file. */
bool interval_is_empty(const struct interval *interval);

/* Return the module and link-time address of a run-time address in this process. NULL if no known module is mapped
 * there. */
const struct module *interval_resolve(uint64_t pc, uint64_t *address);

/* Transfer of a thread's records into the open interval. Collector, under its lock; async-signal-safe. */

/* Take the samples in its ring, and its sample counters. */
void interval_take_thread(struct interval *interval, struct thread *thread);

/* Take the calls since the previous take. */
void interval_take_calls(struct interval *interval, struct thread *thread);

#endif
