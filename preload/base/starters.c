/* Who may touch what: there is nothing but constants. */
#include "starters.h"

#include <stddef.h>
#include <string.h>

/* Programs that only start others, or show them to somebody. A pattern such as * does not mean them. */
static const char *const starters[] = {
    /* shells */
    "sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox",
    /* what sets something, and execs */
    "env", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "chrt", "taskset", "numactl", "sudo", "ssh",
    /* what starts many, one after the other */
    "xargs", "make", "gmake", "ninja", "cmake", "ctest",
    /* other tools that look at programs */
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
