/* The rows of a recording: from column values to the file. One thread at a time. */
#ifndef OUTSIDE_ROWS_H
#define OUTSIDE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "output.h"
#include "perf_counter.h"

/* The columns of a recording: the selected events, their availability, and their values. */
struct column {
    const struct event *event;
    char why[160];    /* why it is not available; empty if it is */
    char note[160];   /* a note for the user, or empty */
    bool has_counter; /* its values come from the counter, otherwise from /proc or a sensor */
    bool is_of_machine;
    enum field field; /* of /proc */
    struct perf_counter counter;
    const struct column *parts[2]; /* of a ratio */
    double now;                    /* growth since the start, or the level */
    bool is_counted;               /* false: `now` is incomplete */
    unsigned missed;               /* number of consecutive misses */
};

struct columns {
    struct target target;
    struct column all[MOST_COLUMNS];
    size_t count;
};

/* Open the available ones of the selected events; return their number. Events too coarse for `interval_ns` are skipped
 * unless explicitly named; 0: skip none. Allocates; once. */
size_t columns_open(struct columns *columns, const struct event *const *chosen, size_t count, struct target target,
                    uint64_t interval_ns);

/* Read all columns. `levels`: including those that are no sums. False if one that was counted recently was not. No
 * allocation. */
bool columns_read(struct columns *columns, bool levels);

/* Scan for new processes and threads. No allocation. */
void columns_scan(struct columns *columns);

/* Sample the threads' states for the next reading; without it the columns of threads have no value. No allocation. */
void columns_update(struct columns *columns);

bool columns_need_polling(const struct columns *columns);
bool column_is_of_threads(const struct column *column);

bool columns_need_scans(const struct columns *columns);

struct rows {
    struct columns *columns;
    struct output *output;
    uint64_t start_ns, interval_ns;
    uint64_t written, late; /* rows; missed ticks */
    uint64_t ticks;         /* all ticks so far */
    uint64_t thin, skipped; /* rows without thread states, and ticks without a row, to limit the cost */
    long error;             /* of the file: negative errno, after which nothing is written */
};

/* Write the header, and read the initial values. `of`: the sampled target. False on failure. */
bool rows_begin(struct rows *rows, const char *of);

/* Add a row for the time since the last one, which is `missed` ticks too long. The row is omitted if a counter was not
 * counted for a while, or if rows cost too much; the next row then covers a longer time. Written once a second. No
 * allocation except the buffer's first. */
void rows_tick(struct rows *rows, uint64_t missed);

/* Add the rest at the end: less than half an interval is merged into the last row. Writes everything. `whole`: there is
 * no rest. */
void rows_end(struct rows *rows, bool whole);

/* Scheduling of the sampler, so that it gets a processor promptly when a row is due. Changes this thread;
 * async-signal-safe. */

/* Request real-time scheduling, or else short time slices. The program has been forked already. */
void punctual_request(uint64_t interval_ns);

/* Return to ordinary scheduling once the work takes long enough to delay other processes. */
void punctual_end_if_coarse(uint64_t work_ns);

#endif
