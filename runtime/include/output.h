/* Files of the run directory. Descriptors are in the interval thread's own table, separate from the application's.
 * Async-signal-safe; called by that thread. */
#ifndef RUNTIME_OUTPUT_H
#define RUNTIME_OUTPUT_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer.h"
#include "launch.h"
#include "sys.h"

/* An append-only file. */
struct output {
    int fd;
    uint64_t length; /* length of the whole images in it */
    bool is_torn;    /* followed by a partial image that could not be cut off */
    bool is_shared;  /* other processes append to it as well: nothing is cut off, and `length` is not maintained */
};

/* Create a file, which must not exist. Returns 0 or negative errno. */
long output_create(struct output *output, const char *path);

/* Append a suffix that distinguishes the files of a rank's processes, and of the programs that a process executes:
 * nothing, .<pid>, .<pid>-2, ... for attempts 0, 1, 2, ... below OUTPUT_MOST_NAMES. */
void output_append_process(char *name, size_t size, const struct launch *launch, uint64_t attempt);

#define OUTPUT_MOST_NAMES 10000u

/* Create the file of a rank in its run directory: rank-00000<suffix>, or, if that exists or for `another` process of
 * the rank, rank-00000.<pid><suffix>, rank-00000.<pid>-2<suffix>, ... Returns 0 or negative errno. */
long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another);

/* Append by one write. On failure the file is cut back to its previous length, and the error is returned. In a shared
 * file a partial write stays: it is followed by the complete data, or by other processes' data. */
long output_append(struct output *output, const struct buffer *data);

/* Cut the file back to `length` bytes. Returns 0 or negative errno. */
long output_cut(struct output *output, uint64_t length);

/* A complete file is written in pieces, first under a temporary name, then renamed. An existing one is kept if `keep`
 * (-EEXIST). output_end must follow output_begin; it returns 0, or the first error as negative errno. */
struct output_draft {
    char temporary[PATH_MAX];
    int fd;
    long error;
};
void output_begin(struct output_draft *draft, const char *path);
void output_add(struct output_draft *draft, const struct buffer *data);
long output_end(struct output_draft *draft, const char *path, bool keep);

/* Write it in one piece. */
long output_write_file(const char *path, const struct buffer *data, bool keep);

/* Return the error that writing the file would have, as far as it can be determined in advance: 0 or negative errno. */
long output_try_file(const char *path);

/* Write directory + "/" + name + suffix into path[PATH_MAX]. */
void output_name(char *path, const char *directory, const char *name, const char *suffix);

/* Blocking of SIGXFSZ and SIGPIPE, which the kernel sends to the writing thread for file limits and broken pipes: a
 * program that has not written anything must not receive them. Async-signal-safe and thread-safe. */
#define QUIET_SIGNALS ((uint64_t)1 << (SIGXFSZ - 1) | (uint64_t)1 << (SIGPIPE - 1))

struct quiet {
    uint64_t mask, pending; /* the previous state */
};

static inline struct quiet quiet_begin(void)
{
    const uint64_t ours = QUIET_SIGNALS;
    struct quiet quiet = {0, 0};
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &quiet.mask, sizeof ours);
    SYS2(SYS_rt_sigpending, &quiet.pending, sizeof quiet.pending);
    return quiet;
}

static inline void quiet_end(struct quiet quiet)
{
    const struct timespec none = {0, 0};
    const uint64_t ours = QUIET_SIGNALS & ~quiet.pending;
    while (ours != 0 && SYS4(SYS_rt_sigtimedwait, &ours, NULL, &none, sizeof ours) > 0)
        ;
    sys_set_signal_mask(quiet.mask);
}

/* The writer thread, which writes the interval thread's data to a file, so that a stalled file system delays neither
 * that thread nor the application. Pending data is in memory of a fixed size.
 *
 * It is created like the interval thread (worker.h), with the same descriptors. If it cannot be created (under Valgrind
 * and emulators, at the thread limit, or with little address space), the interval thread writes itself. All functions
 * are for the interval thread, unless noted otherwise.
 */

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
