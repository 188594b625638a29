/* The writer thread, which writes the interval thread's data to a file, so that a stalled file system delays neither
 * that thread nor the application. Pending data is in memory of a fixed size.
 *
 * It is created like the interval thread (worker.h), with the same descriptors. If it cannot be created (under Valgrind
 * and emulators, at the thread limit, or with little address space), the interval thread writes itself. All functions
 * are for the interval thread, unless noted otherwise.
 */
#ifndef RUNTIME_WRITER_H
#define RUNTIME_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "output.h"

#define WRITER_NAME "incprof-write" /* its name in the kernel */

/* Limit of the pending data, with 8 bytes for each `writer_put`; less if the address space is limited below 1 GiB. */
#define WRITER_MOST_BYTES ((uint64_t)16 << 20)

/* Start the thread. It owns `output` until `writer_end` returns true. False if it cannot be created. */
bool writer_start(struct output *output);

/* Append a copy of the data to the queue. Each entry is written as by output_append. False if there is no room. */
bool writer_put(const struct buffer *data);

/* Return the write error after which nothing more is written, or 0. */
long writer_error(void);

/* Return the number of entries not written yet, including the current one. */
uint32_t writer_waiting(void);

/* Wait until all is written or has failed, or until the deadline (CLOCK_MONOTONIC). Returns whether it was in time. */
bool writer_flush(uint64_t deadline_ns);

/* Make the writer adopt the interval thread's new user, at once unless it is stalled. */
void writer_follow(void);

/* End the thread after its current write. Returns whether it has ended, or does not exist. */
bool writer_end(void);

/* Forget the thread, in a forked child. */
void writer_forget(void);

/* Return the thread's id, or 0 without a thread. Async-signal-safe and thread-safe. */
pid_t writer_tid(void);

/* Return the thread's CPU time, or 0 without a thread. Async-signal-safe and thread-safe. */
uint64_t writer_cpu_ns(void);

#endif
