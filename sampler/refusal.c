#define _GNU_SOURCE
#include "refusal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "reason.h"

#define NO_SETTING (-100)

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

/* The kernel says EACCES where its setting forbids, and filters of system calls say EPERM. */
static void refusal_of_permission(char *text, size_t size, int error, bool of_kernel, struct target target)
{
    int setting = paranoid(), needed = target.scope == OF_MACHINE ? 0 : of_kernel ? 1 : 2;
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
