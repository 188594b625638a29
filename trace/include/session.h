/* The tracing session: from a process's first MPI call to its end. */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

struct meeting;

/* At the first MPI call: start to record events, which are written once MPI reports the rank. `mpi`: its name and
 * version as text; `meeting`: that of its processes. Not async-signal-safe. */
void session_open(const char *mpi, const struct meeting *meeting);

/* Return whether this thread has called MPI_Finalize and returned from it. Thread-safe. */
bool session_is_over_here(void);

/* The file of a rank: a sequence of blocks (formats.md). For the writing thread, except blocks_forget. */
struct about {
    const char *mpi;      /* in words */
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
    uint64_t interval_ns; /* between two writes */
    bool shares_lanes;    /* MPI_THREAD_MULTIPLE */
};

/* Write the new data of all lanes. `last`: how the trace ends, in one word, or NULL. False after one line on stderr,
 * when nothing more can be written. */
bool blocks_write(const struct launch *launch, const struct about *about, const char *last);

/* In a forked child: forget the file, which is the parent's. */
void blocks_forget(void);

/* Ends the program deliberately once all ranks have reached the point in INCPROF_TRACE_UNTIL:
 *
 *   N              N collective calls of all processes: after one of these no rank is ahead of another, and none waits.
 *   Send=12*3,...  each rank by its own calls: twelve of MPI_Send in each of the first three ranks, and so on. Once all
 *                  have reached theirs, none needs another for its work so far.
 *
 * With @RANKS behind either, a run of another number of ranks ends at once. */
struct event;
struct meeting;

/* Read the environment. Before main. */
void stop_after_configure(void);

/* Set the meeting of the ranks, before the first MPI call returns. */
void stop_after_set_meeting(const struct meeting *meeting);

/* After MPI_Init, in all processes. False: the number of ranks differs from the requested one. Not
 * async-signal-safe. */
bool stop_after_started(int rank, int ranks);

/* Return whether this call, which has returned, is the last requested one. Thread-safe; true once. */
bool stop_after_reached(const struct event *event, int ranks);

/* Wait for the other ranks, if each ends by its own calls. False: one of them is in MPI_Finalize, and this one
 * continues. If not all arrive, the job is aborted with status 3. Not async-signal-safe. */
bool stop_after_wait_ranks(void);

/* In MPI_Finalize: release the ranks that wait for this one. Not async-signal-safe. */
void stop_after_finalizing(void);

/* End MPI as MPI_Finalize does, flush the program's own buffers, and end the process with status 0. Only the exit
 * handlers of MPI's library run: the program's may wait for events that will never occur. Not async-signal-safe. */
_Noreturn void stop_after_end(void);

/* The exit handlers of MPI's own library, for a process that ends without those of its program. */

/* Start to record the handle under which MPI's library registers its handlers. */
void mpi_exit_watch(void);

/* Run them, once. Not async-signal-safe. */
void mpi_exit_run(void);

#endif
