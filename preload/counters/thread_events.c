/* Thread safety: the collector's, under its lock.
 *
 * The leader of a group is the software task clock, which exists everywhere: so the other software event, and each
 * hardware event that the processor and the kernel offer, join it, and the kernel counts all or none of them at a time. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "counters.h"
#include "log.h"
#include "sys.h"

static const struct {
    uint32_t type;
    uint64_t config;
} kinds[GROUP_EVENTS] = {
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

static const char *trouble, *trouble_said;

/* Open one event. Where the kernel's part may not be counted, count the program's own; a migration is the kernel's. */
static int open_event(int kind, pid_t tid, int leader)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = kinds[kind].type,
                                   .config = kinds[kind].config,
                                   .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING};
    long fd = SYS5(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
    if ((fd != -EACCES && fd != -EPERM) || kind == COUNTER_MIGRATIONS - COUNTER_TASK_CLOCK)
        return (int)fd;
    attr.exclude_kernel = attr.exclude_hv = 1;
    return (int)SYS5(SYS_perf_event_open, &attr, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void note(int error)
{
    if (error == -EMFILE || error == -ENFILE)
        trouble = "no more descriptors for counters (see ulimit -n): some threads are not counted";
    else if (error == -EACCES || error == -EPERM || error == -ENOSYS)
        trouble = "counters are not permitted here (see kernel.perf_event_paranoid and incprof doctor): only page "
                  "faults, context switches and memory are counted";
    else if (error != -ESRCH)
        trouble = "this machine offers no hardware counters (a virtual machine?): only page faults, context switches "
                  "and memory are counted";
}

void thread_events_open(struct thread_events *events, pid_t tid)
{
    events->tid = tid;
    events->enabled = events->running = 0;
    for (int i = 0; i < GROUP_EVENTS; i++) {
        events->value[i] = 0;
        events->fd[i] = i == 0 || events->fd[0] >= 0 ? open_event(i, tid, i == 0 ? -1 : events->fd[0]) : -1;
    }
    if (events->fd[0] < 0)
        note(events->fd[0]);
    else if (events->fd[COUNTER_CYCLES - COUNTER_TASK_CLOCK] < 0)
        note(events->fd[COUNTER_CYCLES - COUNTER_TASK_CLOCK]);
}

void thread_events_close(struct thread_events *events)
{
    for (int i = GROUP_EVENTS; events->tid != 0 && i-- > 0;)
        if (events->fd[i] >= 0)
            sys_close(events->fd[i]);
    events->tid = 0;
}

/* A count is extrapolated where the group shared the counters of the processor with others. */
void thread_events_take(struct thread_events *events, struct counter_values *values)
{
    struct {
        uint64_t count, enabled, running, value[GROUP_EVENTS];
    } now;
    if (events->tid == 0 || events->fd[0] < 0)
        return;
    long got = SYS3(SYS_read, events->fd[0], &now, sizeof now);
    if (got < (long)(3 * sizeof(uint64_t)) || got < (long)((3 + now.count) * sizeof(uint64_t)))
        return;
    uint64_t enabled = now.enabled - events->enabled, running = now.running - events->running;
    if (running == 0)
        return;
    for (int i = 0, at = 0; i < GROUP_EVENTS; i++) {
        if (events->fd[i] < 0 || at == (int)now.count)
            continue;
        uint64_t more = now.value[at] - events->value[i];
        if (running < enabled)
            more = (uint64_t)((unsigned __int128)more * enabled / running);
        values->value[COUNTER_TASK_CLOCK + i] += more;
        values->known |= (uint64_t)1 << (COUNTER_TASK_CLOCK + i);
        events->value[i] = now.value[at++];
    }
    events->enabled = now.enabled;
    events->running = now.running;
}

void thread_events_report(void)
{
    if (trouble == trouble_said)
        return;
    trouble_said = trouble;
    log_warn(trouble, NULL);
}
