/* Wrappers of the calls that start a program themselves, in a child that runs none of our hooks. As thread-safe as
 * libc's. <spawn.h> is not included: runtime/ has another one. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "end_signals.h"
#include "next.h"

DECLARE_NEXT(posix_spawn);
DECLARE_NEXT(posix_spawnp);
DECLARE_NEXT(system);
DECLARE_NEXT(popen);

/* errno is set by the call. */
#define START(type, call)                                                                                              \
    do {                                                                                                               \
        inherited_begin(false);                                                                                        \
        type result = (call);                                                                                          \
        inherited_end(false);                                                                                          \
        return result;                                                                                                 \
    } while (0)

EXPORT int posix_spawn(pid_t *pid, const char *path, const void *actions, const void *attributes, char *const argv[],
                       char *const envp[])
{
    START(int, NEXT(posix_spawn)(pid, path, actions, attributes, argv, envp));
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const void *actions, const void *attributes, char *const argv[],
                        char *const envp[])
{
    START(int, NEXT(posix_spawnp)(pid, file, actions, attributes, argv, envp));
}

EXPORT int system(const char *command)
{
    inherited_begin(false);
    int result = NEXT(system)(command);
    inherited_end(false);
    end_signals_touched(SIGINT);
    return result;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    START(FILE *, NEXT(popen)(command, mode));
}
