#define _GNU_SOURCE
#include "refusal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "sys.h"

#define NEEDED 2 /* or less: everybody may look at processes of their own */

static int paranoid(void)
{
    int value = 0;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file != NULL && fscanf(file, "%d", &value) != 1)
        value = 0;
    if (file != NULL)
        fclose(file);
    return value;
}

static void say_permission(int error, pid_t pid)
{
    char line[480];
    char self[256] = "incprof-attach";
    long length = sys_readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : (long)strlen(self)] = '\0';
    if (error == -EACCES && paranoid() > NEEDED)
        snprintf(
            line, sizeof line,
            "kernel.perf_event_paranoid is %d: recording from outside needs sysctl kernel.perf_event_paranoid=2, or "
            "setcap cap_perfmon+ep %s",
            paranoid(), self);
    else if (pid != 0)
        snprintf(line, sizeof line,
                 "process %d may not be looked at: be its user or root, or setcap cap_perfmon,cap_sys_ptrace+ep %s",
                 pid, self);
    else
        snprintf(line, sizeof line,
                 "perf_event_open is forbidden, as containers often do: allow it there (CAP_PERFMON)");
    log_warn(line, NULL);
}

void refusal_say(int error, pid_t pid)
{
    if (error == -EACCES || error == -EPERM)
        say_permission(error, pid);
    else if (error == -ESRCH)
        log_warn("the process has ended already", NULL);
    else if (error == -EMFILE || error == -ENFILE)
        log_warn("too many open files: one is needed for each thread and processor; raise ulimit -n", NULL);
    else if (error == -ENOSYS)
        log_warn("the kernel has no perf_event_open, which recording from outside needs", NULL);
    else
        log_error("cannot record from outside", NULL, error);
}
