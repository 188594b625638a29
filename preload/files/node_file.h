/* The file that the ranks of a node share (INCPROF_GATHER=node): the streams of all of them, in chunks
 * (docs/formats.md). Each chunk is appended by one write and says whose it is. Collector, under its lock;
 * async-signal-safe. */
#ifndef INCPROF_NODE_FILE_H
#define INCPROF_NODE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "launch.h"
#include "output.h"

/* Whose chunk it is: with the pid, the start tells the programs that a process becomes from each other. */
struct node_stream {
    uint32_t rank, pid;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    bool forked;
    uint32_t chunks; /* so far */
};

/* Opens this node's file in the run directory, and makes it if it is not there yet. 0 or negative errno; -EPERM where
 * what has its name is not ours to append to. */
long node_file_open(struct output *output, const struct launch *launch);

/* Leaves room for a chunk's head at the beginning of `out`, which is empty; and fills it in when all is there. */
void node_file_begin_chunk(struct buffer *out);
void node_file_end_chunk(struct buffer *out, struct node_stream *stream);

#endif
