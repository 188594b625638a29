/* One lock for what the threads of a process share: objects and requests. Taken only where MPI was told that several
 * threads call it at once; before that, the program sees to it itself. */
#ifndef TRACE_TABLES_LOCK_H
#define TRACE_TABLES_LOCK_H

#include <stdbool.h>

void tables_share(void);
bool tables_are_shared(void);
void tables_lock(void);
void tables_unlock(void);

#endif
