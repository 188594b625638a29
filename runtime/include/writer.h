/* A thread that writes to a file what the interval thread hands over, so that a file system which stands still holds up
 * neither that one nor the application. What waits to be written is in memory of a fixed size.
 *
 * Made like the interval thread (worker.h), with the same descriptors. Where there can be no such thread (under
 * Valgrind and emulators, where the process may have no more threads or little address space), the interval thread
 * writes itself. All functions are for that thread, unless it says otherwise.
 */
#ifndef RUNTIME_WRITER_H
#define RUNTIME_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "output.h"

#define WRITER_NAME "incprof-write" /* as the kernel shows it */

/* What may wait, with 8 bytes for each `writer_put`; less where the address space is limited below 1 GiB. */
#define WRITER_MOST_BYTES ((uint64_t)16 << 20)

/* Starts the thread. `output` is its own until `writer_end` says that it has gone. False if there can be none. */
bool writer_start(struct output *output);

/* Appends a copy of the data to what waits. Each is written as output_append does. False if there is no room. */
bool writer_put(const struct buffer *data);

/* The error that writing has met, after which nothing is written any more, or 0. */
long writer_error(void);

/* How many are not written yet, the one under way included. */
uint32_t writer_waiting(void);

/* Waits until all is written, or cannot be, or until the deadline (CLOCK_MONOTONIC); whether it was in time. */
bool writer_flush(uint64_t deadline_ns);

/* The interval thread has become another user: the writer goes with it, at once if it is not held up. */
void writer_follow(void);

/* Ends the thread, once it has written what it is at. Whether it has gone, or there is none. */
bool writer_end(void);

/* In a forked child: there is no such thread here. */
void writer_forget(void);

/* CPU time that the thread has taken, or 0 where there is none. Async-signal-safe and thread-safe. */
uint64_t writer_cpu_ns(void);

#endif
