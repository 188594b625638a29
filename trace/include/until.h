/* Ends the program on purpose once all ranks have done as much as was asked for: INCPROF_TRACE_UNTIL=N collective calls
 * of all processes. Each rank counts for itself: after one of these calls none is ahead of another, and none waits. */
#ifndef TRACE_UNTIL_H
#define TRACE_UNTIL_H

#include <stdbool.h>
#include <stdint.h>

struct event;

/* Reads the environment. Before main. */
void until_configure(void);

/* Whether this call, which has returned, is the last one that was asked for; `ranks`: in MPI_COMM_WORLD. Thread-safe;
 * true once. */
bool until_reached(const struct event *event, int ranks);

/* Ends MPI as MPI_Finalize does, writes what the program has left in its own buffers, and ends the process with status
 * 0. Exit handlers run of MPI's library only: the program's may wait for what will never come. Not async-signal-safe.
 */
_Noreturn void until_end(void);

#endif
