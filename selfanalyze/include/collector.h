/* Functions that preload/hooks/exec.c, the wrappers of the exec family, calls before an exec and after a failed one, as
 * in libincprof. */
#ifndef SELFANALYZE_COLLECTOR_H
#define SELFANALYZE_COLLECTOR_H

#include "session.h"

static inline void collector_before_exec(const char *file, char *const envp[])
{
    (void)file, (void)envp;
    session_before_exec();
}

static inline void collector_after_exec(void) {}

#endif
