/* Hardware events of a thread on a simulated kernel. Argument: what it permits. Prints the counters after three reads,
 * the number of open descriptors at the end, and what is reported. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include <linux/perf_event.h>

#include "sys.h"

static const char *machine;
static int opened, members[16], order[16][16];
static uint64_t reads[16];
static const char *asked; /* the last file */

static int is(const char *name)
{
    return strcmp(machine, name) == 0;
}

/* The descriptor of a group is 100 times its number, and those of its members follow. */
static long fake_open(const struct perf_event_attr *attr, long tid, long leader)
{
    static int groups;
    if (is("forbidden"))
        return -EACCES;
    if (tid != 42)
        return -ESRCH;
    if (is("user-only") && !attr->exclude_kernel)
        return -EACCES;
    if (attr->type != PERF_TYPE_SOFTWARE && is("virtual"))
        return -ENOENT;
    if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CACHE_REFERENCES)
        return -EINVAL; /* no free counter is left for this one */
    if (is("full"))
        return -EMFILE;
    int group = leader < 0 ? ++groups : (int)leader / 100;
    if (members[group] == 9)
        return -EINVAL;
    int number = attr->type == PERF_TYPE_SOFTWARE   ? (int)attr->config
                 : attr->type == PERF_TYPE_HARDWARE ? 100 + (int)attr->config
                                                    : 1000 + (int)(attr->config & 0xffff);
    order[group][members[group]] = number;
    opened++;
    return group * 100 + members[group]++;
}

/* Event e grows by 1000 (e + 1) a read; half of the time a group has no counters from the second read on. */
static long fake_read(long fd, uint64_t *into)
{
    int group = (int)fd / 100;
    uint64_t count = ++reads[group], running = count < 2 ? count * 1000 : 1000 + (count - 1) * 500;
    into[0] = (uint64_t)members[group];
    into[1] = count * 1000;
    into[2] = running;
    for (int i = 0; i < members[group]; i++)
        into[3 + i] = running * (uint64_t)(order[group][i] + 1);
    return (3 + members[group]) * (long)sizeof *into;
}

static int fake_sys_open(const char *path)
{
    asked = strrchr(path, '/') + 1;
    if (strcmp(asked, "slots") == 0 && strstr(path, "armv8") != NULL)
        return is("neoverse") ? 7 : -ENOENT;
    bool is_old =
        is("intel") && (strcmp(asked, "topdown-mem-bound") == 0 || strcmp(asked, "topdown-heavy-ops") == 0 ||
                        strcmp(asked, "topdown-br-mispredict") == 0 || strcmp(asked, "topdown-fetch-lat") == 0);
    return is("sapphire") || (is("intel") && !is_old) ? 7 : -ENOENT;
}

/* A number for each of the files: its length. */
static long fake_pread(char *into)
{
    if (is("neoverse"))
        return sprintf(into, "0x00000008\n");
    return sprintf(into, "event=0x00,umask=0x%02x\n", (unsigned int)strlen(asked));
}

static int fake_cpuid(unsigned int leaf, unsigned int *a, unsigned int *b, unsigned int *c, unsigned int *d)
{
    const char *vendor = is("intel") || is("sapphire") ? "GenuineIntel"
                         : is("zen4") || is("zen2")    ? "AuthenticAMD"
                                                       : "another12345";
    if (leaf == 1) {
        *a = is("zen4") ? 0x00a10f11 : 0x00870f10;
        return 1;
    }
    memcpy(b, vendor, 4);
    memcpy(d, vendor + 4, 4);
    memcpy(c, vendor + 8, 4);
    return 1;
}

static void fake_close(int fd)
{
    opened -= fd != 7;
}

#undef SYS5
#define SYS5(number, attr, tid, cpu, group, flags) fake_open(attr, tid, group)
#undef SYS3
#define SYS3(number, fd, into, bytes) fake_read(fd, (void *)(into))
#undef SYS4
#define SYS4(number, fd, into, bytes, at) fake_pread(into)
#define sys_close fake_close
#define sys_open(path, flags, mode) fake_sys_open(path)
#include "fixed_text.h"
#if defined(__x86_64__)
#include <cpuid.h>
#define __get_cpuid fake_cpuid
#endif
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
    for (int i = COUNTER_TASK_CLOCK; i < COUNTER_NUMBERS; i++) /* 9 to 44 */
        if (values.present >> i & 1)
            printf("%d=%llu ", i, (unsigned long long)values.value[i]);
    thread_events_close(&events);
    thread_events_close(&events);
    printf("open %d\n", opened);
    thread_events_report();
    thread_events_report();
    return 0;
}
