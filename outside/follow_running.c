#define _GNU_SOURCE
#include "follow.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "log.h"
#include "proc.h"
#include "sys.h"
#include "table.h"
#include "tasks.h"

#define MOST_ATTEMPTS 5 /* scans for new threads */

/* Call `each` for the number of each thread of a process, until that returns other than 0, and returns it. */
static int for_each_thread(pid_t pid, int (*each)(pid_t pid, pid_t tid, void *context), void *context)
{
    char path[48];
    _Alignas(8) char entries[4096];
    long got;
    int result = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    int directory = sys_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (directory < 0)
        return directory == -ENOENT ? -ESRCH : directory;
    while (result == 0 && (got = SYS3(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
        for (long at = 0; at < got && result == 0;) {
            const struct sys_directory_entry *entry = (const void *)(entries + at);
            pid_t tid = (pid_t)atoi(entry->name);
            if (tid > 0)
                result = each(pid, tid, context);
            at += entry->length;
        }
    }
    sys_close(directory);
    return result;
}

struct adding {
    struct events *events;
    pid_t opened; /* the thread whose events are already open */
    uint64_t now_ns;
    size_t added;
};

/* Follow a thread. One that has ended meanwhile is ignored. */
static int add_thread(pid_t pid, pid_t tid, void *context)
{
    struct adding *adding = context;
    if (follow_has_thread(tid))
        return 0;
    int error = tid == adding->opened ? 0 : events_add(adding->events, tid);
    if (error == 0)
        follow_thread(pid, tid, adding->now_ns);
    adding->added++;
    return error == -ESRCH ? 0 : error;
}

static void drain_events(struct events *events)
{
    const struct perf_event_header *record;
    uint64_t time_ns;
    while ((record = events_next(events, UINT64_MAX, &time_ns)) != NULL)
        follow_record(record, time_ns);
}

/* Follow the threads that the process has already. A thread started since is followed by inheritance: the kernel's
 * record of it is taken before the list of threads is read again. */
static int follow(struct events *events, pid_t pid, pid_t opened, const char *exe)
{
    const struct timespec pause = {0, 1000000};
    struct adding adding = {.events = events, .opened = opened, .now_ns = monotonic_ns(), .added = 1};
    int error = follow_running(pid, exe, adding.now_ns) ? 0 : -ENOMEM;
    for (int attempt = 0; attempt < MOST_ATTEMPTS && error == 0 && adding.added > 0; attempt++) {
        adding.added = 0;
        error = for_each_thread(pid, add_thread, &adding);
        SYS2(SYS_nanosleep, &pause, NULL);
        drain_events(events);
    }
    return error;
}

int running_follow(struct events *events, pid_t pid, const char *exe)
{
    return follow(events, pid, pid, exe);
}

/* Follow a descendant. One that was started after its parent was followed is followed already. */
static void follow_descendant(struct events *events, pid_t pid)
{
    char exe[PATH_MAX];
    char line[64];
    drain_events(events);
    if (follow_has_thread(pid))
        return;
    int error = target_exe(pid, exe) ? follow(events, pid, 0, exe) : -EACCES;
    if (error == 0 || error == -ESRCH)
        return;
    snprintf(line, sizeof line, "process %d, which it has started,", pid);
    log_error(line, "is not recorded", error);
}

static int add_children(pid_t pid, pid_t tid, void *context)
{
    char path[64];
    struct buffer text = {0};
    snprintf(path, sizeof path, "%d/task/%d/children", pid, tid);
    const char *at = task_read(path, &text) ? (const char *)text.data : "";
    for (char *end; *at != '\0'; at = end + (*end == ' ')) {
        const uint64_t child = strtoul(at, &end, 10);
        if (end == at)
            break;
        table_add(context, &child, NULL);
    }
    buffer_free(&text);
    return 0;
}

void running_follow_descendants(struct events *events, pid_t pid)
{
    struct table children = {.record_size = sizeof(uint64_t), .key_size = sizeof(uint64_t)};
    for_each_thread(pid, add_children, &children);
    for (size_t i = 0; i < children.count; i++) {
        pid_t child = (pid_t) * (const uint64_t *)table_record(&children, i);
        follow_descendant(events, child);
        for_each_thread(child, add_children, &children);
    }
    table_free(&children);
}
