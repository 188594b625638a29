/* The output files of one process. Collector, under its lock; async-signal-safe. */
#ifndef INCPROF_RECORDING_H
#define INCPROF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "config.h"
#include "gpu_use.h"
#include "interval.h"
#include "launch.h"
#include "modules.h"
#include "output.h"
#include "stream.h"

/* The file that the ranks of a node share (INCPROF_GATHER=node): all their streams, in chunks
 * (docs/reference/formats.md). Each chunk is appended by one write and names its owner. Collector, under its lock;
 * async-signal-safe. */

/* The owner of a chunk. Pid and start time together identify each program that a process executes. */
struct node_stream {
    uint32_t rank, pid;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    bool forked;
    uint32_t chunks; /* so far */
};

/* Open this node's file in the run directory, creating it if necessary. Returns 0 or negative errno; -EPERM if an
 * existing file of that name is not ours to append to. */
long node_file_open(struct output *output, const struct launch *launch);

/* Reserve room for a chunk's header at the beginning of the empty `out`; the second function fills it in once the chunk
 * is complete. */
void node_file_begin_chunk(struct buffer *out);
void node_file_end_chunk(struct buffer *out, struct node_stream *stream);

enum opening {
    OPEN_AT_ONCE,
    OPEN_SOON, /* unless it has executed another program by then */
    OPEN_LATE  /* once there is data: a forked child's file, and most of a job's files */
};

struct recording {
    const struct config *config;
    const struct launch *launch;
    struct output file;
    struct node_stream stream; /* in a shared file */
    struct buffer data;
    bool open;   /* the stream exists */
    bool broken; /* writing has failed; no further attempts */
    bool forked;
    enum opening opening; /* when its file is created */
    char suffix[32];      /* of gmon files (output_append_process) */
    uint64_t start_ns;
    size_t modules_written;
    size_t modules_checked, nodes_checked; /* modules and nodes whose symbols have been copied if required */
    uint8_t copied[MOST_MODULES / 8];      /* modules that have been copied, or cannot be */
    uint64_t samples, lost;
    enum gpu_use gpu;   /* set before the end */
    uint64_t cpu_ns;    /* of all intervals */
    uint64_t intervals; /* in the file, or queued */
    uint64_t dropped;   /* since the last of these: the file system stalled and the queue was full */
    bool has_writer;    /* a thread of its own writes the stream (output.h) */
};

void recording_begin(struct recording *recording, const struct config *config, const struct launch *launch,
                     uint64_t start_ns, bool forked, enum opening opening);

/* Create the process's file; otherwise recording_interval creates it. At the limit of descriptors this is left to
 * recording_interval, because some may be free by then. False after one line on stderr: nothing can be written. */
bool recording_open_early(struct recording *recording, const struct interval *interval);

/* Prepare for the end of the writing thread; another one continues. */
void recording_park(struct recording *recording);
void recording_resume(struct recording *recording);

/* Copy the symbols of new modules, if the file is open: the modules' own files may be replaced later. */
void recording_keep_symbols(struct recording *recording, const struct interval *interval);

/* Return whether recording_interval will write the interval: OPEN_LATE waits for data. */
bool recording_takes(const struct recording *recording, const struct interval *interval);

/* Append the interval (stream), or write its cumulative file (gmon). A recording with OPEN_LATE and no data has no
 * file. If the queue of pending writes is full, the interval is dropped and counted. False after one line on stderr. */
bool recording_interval(struct recording *recording, struct interval *interval, const struct interval_record *record);

/* End the recording, at its regular end or before an exec. Waits for pending writes, for RECORDING_LONGEST_FLUSH_NS at
 * most; the rest is then given up with one line on stderr. */
#define RECORDING_LONGEST_FLUSH_NS 1500000000u
void recording_end(struct recording *recording, const struct interval *interval, uint64_t end_ns);

/* The metadata of a file (docs/reference/formats.md, kind 1). */

/* Append it as one JSON object. `start_ns`: CLOCK_MONOTONIC. Async-signal-safe. */
void metadata_json(struct buffer *out, const struct config *config, const struct launch *launch, uint64_t start_ns,
                   bool forked);

#endif
