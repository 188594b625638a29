#define _GNU_SOURCE
#include "perf_counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "sys.h"

#define NO_SETTING (-100)
#define OWN_PROCESSES 2 /* or less: users may observe their own processes */

static int paranoid(void)
{
    int value = NO_SETTING;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file != NULL && fscanf(file, "%d", &value) != 1)
        value = NO_SETTING;
    if (file != NULL)
        fclose(file);
    return value;
}

/* Describe a denial. The kernel returns EACCES if its setting forbids the event; system call filters return EPERM. */
static void refusal_of_permission(char *text, size_t size, int error, bool of_kernel, struct target target)
{
    int setting = paranoid(), needed = target.scope == OF_MACHINE ? 0 : of_kernel ? 1 : OWN_PROCESSES;
    if (error == -EACCES && setting > needed)
        snprintf(text, size, "kernel.perf_event_paranoid is %d (EACCES): needs %d, or CAP_PERFMON", setting, needed);
    else if (target.scope == OF_PROCESS)
        snprintf(text, size, "not permitted for this process (%s): needs its user, or CAP_PERFMON and CAP_SYS_PTRACE",
                 reason_name(error));
    else
        snprintf(text, size, "perf_event_open is forbidden (%s), as containers often do", reason_name(error));
}

void refusal_of_counter(char *text, size_t size, int error, uint32_t type, bool of_kernel, struct target target)
{
    bool of_hardware = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_RAW;
    if (error == -EACCES || error == -EPERM)
        refusal_of_permission(text, size, error, of_kernel, target);
    else if (error == -ENOSYS)
        snprintf(text, size, "the kernel has no perf_event_open (ENOSYS)");
    else if (of_hardware && (error == -ENOENT || error == -ENODEV || error == -EOPNOTSUPP))
        snprintf(text, size, "this processor or hypervisor has no such hardware counter (%s)", reason_name(error));
    else if (error == -EMFILE || error == -ENFILE)
        snprintf(text, size, "too many open files (%s): raise ulimit -n, or take fewer events", reason_name(error));
    else
        snprintf(text, size, "%s (%s)", strerror(-error), reason_name(error));
}

void refusal_of_file(char *text, size_t size, int error, const char *path)
{
    if (error == -ENOENT)
        snprintf(text, size, "there is no %s", path);
    else
        snprintf(text, size, "reading %s: %s (%s)", path, strerror(-error), reason_name(error));
}

static void report_permission(int error, pid_t pid)
{
    char line[480];
    char self[256] = "incprof-attach";
    long length = sys_readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : (long)strlen(self)] = '\0';
    if (error == -EACCES && paranoid() > OWN_PROCESSES)
        snprintf(
            line, sizeof line,
            "kernel.perf_event_paranoid is %d: recording from outside needs sysctl kernel.perf_event_paranoid=2, or "
            "setcap cap_perfmon+ep %s",
            paranoid(), self);
    else if (pid != 0)
        snprintf(line, sizeof line,
                 "process %d may not be recorded: run as its user or root, or setcap cap_perfmon,cap_sys_ptrace+ep %s",
                 pid, self);
    else
        snprintf(line, sizeof line,
                 "perf_event_open is forbidden, as containers often do: allow it there (CAP_PERFMON)");
    log_warn(line, NULL);
}

void refusal_report(int error, pid_t pid)
{
    if (error == -EACCES || error == -EPERM)
        report_permission(error, pid);
    else if (error == -ESRCH)
        log_warn("the process has ended already", NULL);
    else if (error == -EMFILE || error == -ENFILE)
        log_warn("too many open files: one is needed for each thread and processor; raise ulimit -n", NULL);
    else if (error == -ENOSYS)
        log_warn("the kernel has no perf_event_open, which recording from outside needs", NULL);
    else
        log_error("cannot record from outside", NULL, error);
}
