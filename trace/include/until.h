/* Ends the program on purpose once all ranks have done as much as INCPROF_TRACE_UNTIL says:
 *
 *   N              N collective calls of all processes: after one of these no rank is ahead of another, and none waits.
 *   Send=12*3,...  each rank by its own calls: twelve of MPI_Send in each of the first three ranks, and so on. Where
 * all have come to theirs, none needs another for what it has done.
 *
 * With @RANKS behind either, a run of another number of ranks ends at once. */
#ifndef TRACE_UNTIL_H
#define TRACE_UNTIL_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct meeting;

/* Reads the environment. Before main. */
void until_configure(void);

/* Where the ranks agree, before the first MPI call comes back. */
void until_meet_at(const struct meeting *meeting);

/* MPI has started, in all processes. False: it is another number of ranks than was asked for. Not async-signal-safe. */
bool until_started(int rank, int ranks);

/* Whether this call, which has returned, is the last one that was asked for. Thread-safe; true once. */
bool until_reached(const struct event *event, int ranks);

/* Waits for the other ranks where each ends by its own calls. False: one of them has no more to do, and this one goes
 * on; where not all come, the job is aborted with status 3. Not async-signal-safe. */
bool until_all_have(void);

/* The program ends MPI by itself: those that wait for this rank need not. Not async-signal-safe. */
void until_finalizing(void);

/* Ends MPI as MPI_Finalize does, writes what the program has left in its own buffers, and ends the process with status
 * 0. Exit handlers run of MPI's library only: the program's may wait for what will never come. Not async-signal-safe.
 */
_Noreturn void until_end(void);

#endif
