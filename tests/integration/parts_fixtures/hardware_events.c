/* Hardware events of a thread on a simulated kernel. Argument: what it permits. Prints the counters after three reads,
 * the number of open descriptors at the end, and what is reported. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <linux/perf_event.h>

#include "sys.h"

static const char *machine;
static int opened, order[16], members;
static uint64_t reads;

static long fake_open(const struct perf_event_attr *attr, long tid)
{
    if (strcmp(machine, "forbidden") == 0)
        return -EACCES;
    if (tid != 42)
        return -ESRCH;
    if (strcmp(machine, "user-only") == 0 && !attr->exclude_kernel)
        return -EACCES;
    if (attr->type == PERF_TYPE_HARDWARE && strcmp(machine, "virtual") == 0)
        return -ENOENT;
    if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CACHE_REFERENCES)
        return -EINVAL; /* no free counter is left for this one */
    if (opened == (strcmp(machine, "full") == 0 ? 0 : 8))
        return -EMFILE;
    order[members++] = attr->type == PERF_TYPE_SOFTWARE ? (int)attr->config : 100 + (int)attr->config;
    opened++;
    return 100 + members;
}

/* Event e grows by 1000 (e + 1) a read; half of the time the group has no counters from the second read on. */
static long fake_read(uint64_t *into)
{
    reads++;
    into[0] = (uint64_t)members;
    into[1] = reads * 1000;
    into[2] = reads < 2 ? reads * 1000 : 1000 + (reads - 1) * 500;
    for (int i = 0; i < members; i++)
        into[3 + i] = (reads < 2 ? reads * 1000 : 1000 + (reads - 1) * 500) * (uint64_t)(order[i] + 1);
    return (3 + members) * (long)sizeof *into;
}

static void fake_close(int fd)
{
    (void)fd;
    opened--;
}

#undef SYS5
#define SYS5(number, attr, tid, cpu, group, flags) fake_open(attr, tid)
#undef SYS3
#define SYS3(number, fd, into, bytes) fake_read((void *)(into))
#define sys_close fake_close
#include "thread_events.c"

bool log_warn(const char *what, const char *detail)
{
    (void)detail;
    return printf("%s\n", what) > 0;
}

int main(int count, char **words)
{
    struct thread_events events = {0};
    struct counter_values values = {0};
    machine = count > 1 ? words[1] : "";
    thread_events_take(&events, &values); /* of no thread */
    thread_events_open(&events, 42);
    for (int i = 0; i < 3; i++)
        thread_events_take(&events, &values);
    for (int i = COUNTER_TASK_CLOCK; i < COUNTER_NUMBERS; i++)
        if (values.known >> i & 1)
            printf("%d=%llu ", i, (unsigned long long)values.value[i]);
    thread_events_close(&events);
    thread_events_close(&events);
    printf("open %d\n", opened);
    thread_events_report();
    thread_events_report();
    return 0;
}
