/* The columns of a recording: events that were chosen, which of them can be had here, and their values. */
#ifndef SAMPLER_COLUMNS_H
#define SAMPLER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "perf.h"

struct column {
    const struct event *event;
    char why[160];    /* why it cannot be had; empty if it can */
    char note[160];   /* what to know about it, or empty */
    bool has_counter; /* its values are the counter's, else of /proc or a sensor */
    bool is_of_machine;
    enum field field; /* of /proc */
    struct counter counter;
    const struct column *parts[2]; /* of a ratio */
    double now;                    /* since the start, or the level */
    bool is_counted;               /* false: `now` lacks something */
    unsigned missed;               /* so many times in a row */
};

struct columns {
    struct target target;
    struct column all[MOST_COLUMNS];
    size_t count;
};

/* Opens what can be had of the chosen events. Returns how many can. `interval_ns` tells what is too coarse to be taken
 * without being asked for; 0: nothing is. Allocates; once. */
size_t columns_open(struct columns *columns, const struct event *const *chosen, size_t count, struct target target,
                    uint64_t interval_ns);

/* Reads all of them. `levels`: also what is no sum. False if one that was counted until lately was not. No allocation.
 */
bool columns_read(struct columns *columns, bool levels);

/* Looks for new processes and threads. No allocation. */
void columns_scan(struct columns *columns);

/* Looks at what the threads do, for the next reading: without, columns of that have no value. No allocation. */
void columns_look(struct columns *columns);

bool columns_need_looks(const struct columns *columns);
bool column_is_of_threads(const struct column *column);

bool columns_need_scans(const struct columns *columns);

#endif
