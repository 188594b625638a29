/* The rows of a recording, from the columns to the file. One thread at a time. */
#ifndef SAMPLER_ROWS_H
#define SAMPLER_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "columns.h"
#include "output.h"

struct rows {
    struct columns *columns;
    struct output *output;
    uint64_t start_ns, interval_ns;
    uint64_t written, late;  /* rows; ticks that were missed */
    uint64_t thin, left_out; /* rows without a look at threads, and ticks without a row, as they cost too much */
    long error;              /* of the file: negative errno, and nothing more is written */
};

/* Writes the head and takes the values from which the first row counts. `of`: what is sampled. False on failure. */
bool rows_begin(struct rows *rows, const char *of);

/* A row for the time since the last one, which was `missed` ticks too long; none where a counter has not been counted
 * for a while, or rows cost too much: then the next row is for longer. Written once a second. No allocation but the
 * buffer's first. */
void rows_tick(struct rows *rows, uint64_t missed);

/* What is left at the end: less than half an interval belongs to the last row. Writes all. `whole`: nothing is left. */
void rows_end(struct rows *rows, bool whole);

#endif
