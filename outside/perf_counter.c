#define _GNU_SOURCE
#include "perf_counter.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 65536

/* read and syscall are libc's, so that tests can replace them and simulate a machine with counters. */
static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int add(struct perf_counter *counter, struct perf_event_attr *attr, pid_t pid, int cpu)
{
    if (counter->count == MOST_DESCRIPTORS)
        return -EMFILE;
    int fd = open_event(attr, pid, cpu);
    if (fd < 0)
        return fd;
    struct descriptor *more = realloc(counter->descriptors, (counter->count + 1) * sizeof *more);
    if (more == NULL) {
        close(fd);
        return -ENOMEM;
    }
    counter->descriptors = more;
    more[counter->count++] = (struct descriptor){.fd = fd};
    return 0;
}

/* Open counters for all threads. Threads that end meanwhile are skipped. New threads inherit the counter. */
static int add_threads(struct perf_counter *counter, struct perf_event_attr *attr, pid_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT ? -ESRCH : -errno;
    int error = 0;
    for (struct dirent *entry; error == 0 && (entry = readdir(directory)) != NULL;) {
        pid_t tid = entry->d_name[0] == '.' ? 0 : (pid_t)atoi(entry->d_name);
        error = tid > 0 ? add(counter, attr, tid, -1) : 0;
        if (error == -ESRCH)
            error = 0;
    }
    closedir(directory);
    return error == 0 && counter->count == 0 ? -ESRCH : error;
}

/* Open counters for all processors. Offline ones have none. */
static int add_processors(struct perf_counter *counter, struct perf_event_attr *attr)
{
    int error = 0;
    for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_CONF) && error == 0; cpu++) {
        error = add(counter, attr, -1, cpu);
        if (error == -ENODEV)
            error = 0;
    }
    return error == 0 && counter->count == 0 ? -ENODEV : error;
}

static int open_all(struct perf_counter *counter, struct perf_event_attr *attr, struct target target)
{
    int error = target.scope == OF_MACHINE   ? add_processors(counter, attr)
                : target.scope == OF_PROCESS ? add_threads(counter, attr, target.pid)
                                             : add(counter, attr, target.pid, -1);
    if (error != 0)
        counter_close(counter);
    return error;
}

int counter_open(struct perf_counter *counter, uint32_t type, uint64_t config, bool of_kernel, struct target target)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = type,
        .config = config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .inherit = target.scope != OF_MACHINE,
        /* Count from the program's first instruction on, not the sampler's child before the exec. */
        .disabled = target.scope == OF_PROGRAM,
        .enable_on_exec = target.scope == OF_PROGRAM,
    };
    *counter = (struct perf_counter){0};
    int error = open_all(counter, &attr, target);
    if ((error != -EACCES && error != -EPERM) || of_kernel)
        return error;
    attr.exclude_kernel = attr.exclude_hv = 1;
    counter->user_only = true;
    return open_all(counter, &attr, target);
}

int counter_add_processor(struct perf_counter *counter, uint32_t type, uint64_t config, int processor)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = type,
        .config = config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return add(counter, &attr, -1, processor);
}

static bool read_one(struct perf_counter *counter, struct descriptor *descriptor)
{
    struct {
        uint64_t value, enabled, running;
    } now;
    /* A counter disabled by the kernel reads as end of file. */
    if (read(descriptor->fd, &now, sizeof now) != sizeof now)
        return false;
    /* The kernel's numbers wrap around at 2^64, and so do the differences. */
    double enabled = (double)(now.enabled - descriptor->enabled);
    double running = (double)(now.running - descriptor->running);
    double value = (double)(now.value - descriptor->value);
    if (counter->has_begun && enabled > 0 && running <= 0)
        return false;
    if (counter->has_begun) {
        counter->total += running < enabled ? value * (enabled / running) : value;
        counter->enabled += enabled;
        counter->running += running;
    }
    *descriptor = (struct descriptor){descriptor->fd, now.value, now.enabled, now.running};
    return true;
}

bool counter_read(struct perf_counter *counter)
{
    bool counted = true;
    for (size_t i = 0; i < counter->count; i++)
        counted &= read_one(counter, &counter->descriptors[i]);
    counter->has_begun = true;
    return counted;
}

void counter_close(struct perf_counter *counter)
{
    for (size_t i = 0; i < counter->count; i++)
        close(counter->descriptors[i].fd);
    free(counter->descriptors);
    *counter = (struct perf_counter){0};
}
