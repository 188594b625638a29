/* What the kernel says the application has read and written: /proc/self/io, without the collector's own threads and
 * without child processes, whose totals the kernel adds to their parent's when they are waited for.
 *
 * For the interval thread, under the collector's lock, except procio_begin. Async-signal-safe. */
#ifndef INCPROF_PROCIO_H
#define INCPROF_PROCIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

/* The lines of the kernel's file, in their order. */
enum procio_value {
    PROCIO_READ,         /* bytes that calls have read, from storage or not */
    PROCIO_WRITTEN,      /* bytes that calls have written */
    PROCIO_READS,        /* such calls */
    PROCIO_WRITES,       /* likewise */
    PROCIO_FROM_STORAGE, /* bytes fetched from storage, for page faults too */
    PROCIO_TO_STORAGE,   /* bytes of pages that were made dirty */
    PROCIO_CANCELLED,    /* of these, bytes of files cut off or deleted before they reached storage */
    PROCIO_VALUES
};

/* Parse the text of such a file. False if a line is missing. Pure. */
bool procio_parse(const char *text, size_t length, uint64_t values[PROCIO_VALUES]);

/* Count from now on: at the start of a recording, on the application's thread before any other exists, or in a forked
 * child, which the kernel lets begin with 0. */
void procio_begin(bool forked);

/* Append the records of kind 11 (docs/reference/formats.md): the totals since procio_begin. Nothing if that was done
 * less than 10 ms ago, unless `is_last`. `have_threads_ended`: so far, of the application's. `now_ns`: since the start
 * of the run. */
void procio_put(struct buffer *out, bool have_threads_ended, uint64_t now_ns, bool is_last);

/* Add output that libc writes after the recording's end, at exit. Any thread. */
void procio_add_at_end(uint64_t bytes, uint64_t calls);

/* Find that output. At exit, with libc in order: not async-signal-safe. */
void procio_note_buffers(void);

/* Prepare for the end of the interval thread, whose descriptors go with it. Another one continues. */
void procio_park(void);

#endif
