/* Thread safety: constants only. */
#include "config.h"

#include <stddef.h>
#include <string.h>

/* Programs that only start or display others. A pattern such as * does not match them. */
static const char *const starters[] = {
    /* shells */
    "sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox",
    /* programs that set something up, and exec */
    "env", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "chrt", "taskset", "numactl", "sudo", "ssh",
    /* programs that start many others in turn */
    "xargs", "make", "gmake", "ninja", "cmake", "ctest",
    /* debuggers, profilers and tracers */
    "gdb", "lldb", "perf", "valgrind", "strace", "ltrace",
    /* launchers of parallel programs, and their helpers on nodes */
    "mpirun", "mpiexec", "orterun", "prterun", "prun", "orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy",
    "srun", "slurmstepd", "aprun", "jsrun", "flux", "ibrun"};

bool starter_is(const char *name)
{
    size_t length = strcspn(name, "."); /* mpiexec.hydra */
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (strlen(starters[i]) == length && memcmp(starters[i], name, length) == 0)
            return true;
    return false;
}
