/* Thread safety: no static state. */
#define _GNU_SOURCE
#include <stdint.h>

#include "next.h"
#include "resolve.h"
#include "session.h"

/* Thread-safe, as dlclose is. An MPI that this thread has finalized is unloaded together with the library that has
 * loaded it. */
EXPORT int dlclose(void *handle)
{
    uint32_t before = loader_unloads();
    if (session_is_over_here()) {
        resolve_forget();
        mpi_library_let_go();
    }
    int result = loader_close(handle);
    if (loader_unloads() != before)
        resolve_forget();
    return result;
}
