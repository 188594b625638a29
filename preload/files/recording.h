/* The files of one process: where its intervals go. Collector, under its lock; async-signal-safe. */
#ifndef INCPROF_RECORDING_H
#define INCPROF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "interval.h"
#include "launch.h"
#include "modules.h"
#include "node_file.h"
#include "output.h"
#include "stream.h"

enum opening {
    OPEN_AT_ONCE,
    OPEN_SOON, /* if it has not become another program by then */
    OPEN_LATE  /* once there is something to put into it: a forked child's, and most of a job's */
};

struct recording {
    const struct config *config;
    const struct launch *launch;
    struct output file;
    struct node_stream stream; /* in a file that is shared */
    struct buffer data;
    bool open;   /* the stream exists */
    bool broken; /* writing has failed: nothing more is tried */
    bool forked;
    enum opening opening; /* when its file is made */
    char suffix[32];      /* of gmon files (output_append_process) */
    uint64_t start_ns;
    size_t modules_written;
    size_t modules_seen, nodes_seen; /* whose symbols are kept where they are to be */
    uint8_t kept[MOST_MODULES / 8];  /* modules of which there are copies, or cannot be */
    uint64_t samples, lost;
    uint64_t cpu_ns;    /* of all intervals */
    uint64_t intervals; /* in the file, or on their way */
    uint64_t dropped;   /* since the last of these: the file system stood still, and what waits had no room for more */
    bool has_writer;    /* a thread of its own writes the stream (writer.h) */
};

void recording_begin(struct recording *recording, const struct config *config, const struct launch *launch,
                     uint64_t start_ns, bool forked, enum opening opening);

/* Creates the process's file; recording_interval does it where this has not. At the limit of descriptors it leaves it
 * to that: there may be some by then. False after one line on stderr: nothing can be written. */
bool recording_open_early(struct recording *recording, const struct interval *interval);

/* The thread that writes is about to end; another one goes on. */
void recording_park(struct recording *recording);
void recording_go_on(struct recording *recording);

/* Copies the symbols of modules that have come up since, if there is a file yet: their own may be replaced. */
void recording_keep_symbols(struct recording *recording, const struct interval *interval);

/* Appends the interval (stream), or writes its cumulative file (gmon). One that is late, and has
 * nothing to say yet, has no file. Where there is no room for what waits to be written, the interval is dropped and
 * counted. False after one line on stderr. */
bool recording_interval(struct recording *recording, struct interval *interval, const struct interval_record *record);

/* The recording ended as it should, or ends with the exec that comes next. Waits for what is not written yet, for
 * RECORDING_LONGEST_FLUSH_NS at most; what is left then is given up with one line on stderr. */
#define RECORDING_LONGEST_FLUSH_NS 1500000000u
void recording_end(struct recording *recording, const struct interval *interval, uint64_t end_ns);

#endif
