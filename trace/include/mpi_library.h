/* The MPI that is traced: the one that the program's first MPI call belongs to. The part of the tracer that knows it is
 * loaded then, when the MPI is there: programs that load theirs late, as Python does, are traced like others. Calls of
 * another MPI in the same process go there, untraced.
 *
 * Thread-safe; not async-signal-safe. */
#ifndef TRACE_MPI_LIBRARY_H
#define TRACE_MPI_LIBRARY_H

#include <stdint.h>

#include "scope.h"

/* What a call goes to that comes from this scope, and would go to `real` without us. `entry`: as in struct wrappers. */
void *mpi_library_wrap(const struct scope *scope, uint32_t entry, void *real);

/* MPI is over, and nobody is in the part that knows it: it is given back, as is the MPI, which whoever has brought it
 * may close. If it is loaded again, its calls are not traced. */
void mpi_library_let_go(void);

#endif
