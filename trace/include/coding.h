/* Encoding of events as bytes (docs/reference/formats.md). For the lane's own thread; not async-signal-safe. */
#ifndef TRACE_CODING_H
#define TRACE_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "event.h"
#include "lane.h"

/* The first byte of a record other than an expected event; docs/reference/formats.md lists the contents of each. */
enum record {
    RECORD_EXPECTED = 1, /* an event of the expected shape, whose work differs from its gap */
    RECORD_KNOWN,        /* of a known shape */
    RECORD_KNOWN_WORK,   /* the same, with its work */
    RECORD_NEW,          /* of a new shape */
    RECORD_FORGET,       /* shapes are numbered from 0 again */
    RECORD_THREAD,       /* another thread uses the lane from now on */
    RECORD_FUNCTION,
    RECORD_MODULE,
    RECORD_SITE,
    RECORD_OBJECT,
    RECORD_LOST /* number of events missing here */
};

/* The first byte of an expected event whose work equals its gap: the duration in seven bits, or this value for a longer
 * one. */
#define RECORD_STEADY 0x80
#define STEADY_MORE 0x7f

/* Write the lane's event. False if the ring has no room: nothing has changed, and the call may be repeated. */
bool coding_put(struct lane *lane, uint64_t start_ns);

/* Drop the event and count it as lost. */
void coding_lose(struct lane *lane);

/* Counter values before each event of a lane, as a row in a separate ring (formats.md, block 4). For the lane's own
 * thread; not async-signal-safe. */

/* At the start of an MPI call: keep the thread's counts since the last one until the event is written. */
void counts_end_work(struct lane *lane);

/* At the end of an MPI call: work begins. */
void counts_begin_work(struct lane *lane);

/* Return whether there is room for a row; the second function writes the row of the lane's event. */
bool counts_have_room(const struct lane *lane);
void counts_put(struct lane *lane);

size_t counts_row_bytes(void);

/* Communicators, windows and files: a map from an MPI's handles to small numbers, from 1 on, which are reused when
 * their object is freed. Thread-safe as far as the program's calls of MPI are; not async-signal-safe. */

/* Append the description of an object, unless it is already written according to `versions`, the thread's own. */
void objects_explain(uint32_t *versions, uint32_t number, struct buffer *words);

/* One lock for the shared tables of a process: objects and requests. Taken only under MPI_THREAD_MULTIPLE; at lower
 * levels the program itself serialises its MPI calls. */
void tables_share(void);
void tables_lock(void);
void tables_unlock(void);

#endif
