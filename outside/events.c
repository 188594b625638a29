#define _GNU_SOURCE
#include "events.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RAW 16

#define HARDWARE(name, config, by_default, description)                                                                \
    {name, PER_INTERVAL, FROM_PERF, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, by_default, description}
#define SOFTWARE(name, config, by_default, description)                                                                \
    {name, PER_INTERVAL, FROM_PERF, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, by_default, description}
#define PROC(name, kind, field, by_default, description) {name, kind, FROM_PROC, 0, field, by_default, description}

static const struct event events[] = {
    HARDWARE("instructions", INSTRUCTIONS, true, "instructions retired"),
    HARDWARE("cycles", CPU_CYCLES, true, "cycles of the processor, at its changing frequency"),
    HARDWARE("ref-cycles", REF_CPU_CYCLES, true, "cycles at the processor's reference frequency"),
    {"ipc", RATIO, DERIVED, 0, 0, true, "instructions / cycles; 0 where nothing ran"},
    {"ipc-ref", RATIO, DERIVED, 0, 0, true, "instructions / ref-cycles; 0 where nothing ran"},
    HARDWARE("cache-misses", CACHE_MISSES, true, "misses of the last cache"),
    HARDWARE("cache-references", CACHE_REFERENCES, false, "accesses to the last cache"),
    HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND, false, "cycles in which nothing could be fetched"),
    HARDWARE("bus-cycles", BUS_CYCLES, false, "cycles of the bus"),
    HARDWARE("branches", BRANCH_INSTRUCTIONS, false, "branches retired"),
    HARDWARE("branch-misses", BRANCH_MISSES, false, "branches predicted wrongly"),
    PROC("cpu", SHARE, CPU_NS, true, "processors used: CPU time / time"),
    PROC("active-cpus", LEVEL, ACTIVE_CPUS, true, "processors with a running thread of the program, at this moment"),
    SOFTWARE("context-switches", CONTEXT_SWITCHES, true, "times that a thread lost its processor"),
    SOFTWARE("page-faults", PAGE_FAULTS, false, "page faults"),
    PROC("rss-bytes", LEVEL, RESIDENT, false, "resident memory"),
    PROC("read-bytes", PER_INTERVAL, READ_BYTES, true, "read by system calls, from files and pipes"),
    PROC("write-bytes", PER_INTERVAL, WRITTEN_BYTES, true, "written by system calls"),
    SOFTWARE("task-clock", TASK_CLOCK, false, "CPU time in ns"),
    SOFTWARE("cpu-migrations", CPU_MIGRATIONS, false, "threads that went to another processor"),
    PROC("minor-faults", PER_INTERVAL, MINOR_FAULTS, false, "page faults without I/O"),
    PROC("major-faults", PER_INTERVAL, MAJOR_FAULTS, false, "page faults with I/O"),
    PROC("user", SHARE, USER_NS, false, "processors used in user mode"),
    PROC("system", SHARE, SYSTEM_NS, false, "processors used in the kernel"),
    PROC("running-threads", LEVEL, RUNNING_THREADS, false,
         "threads of the program that run or wait to, at this moment"),
    PROC("disk-read-bytes", PER_INTERVAL, DISK_READ_BYTES, false, "read from storage"),
    PROC("disk-write-bytes", PER_INTERVAL, DISK_WRITTEN_BYTES, false, "written to storage"),
    PROC("run-queue", LEVEL, RUN_QUEUE, false, "threads of the machine that run or wait to, at this moment"),
    PROC("net-rx-bytes", PER_INTERVAL, RECEIVED_BYTES, false, "received by the machine's network interfaces but lo"),
    PROC("net-rx-packets", PER_INTERVAL, RECEIVED_PACKETS, false, "packets of them"),
    PROC("net-tx-bytes", PER_INTERVAL, SENT_BYTES, false, "sent by the machine's network interfaces but lo"),
    PROC("net-tx-packets", PER_INTERVAL, SENT_PACKETS, false, "packets of them"),
    PROC("net-lo-bytes", PER_INTERVAL, LOOPBACK_BYTES, false, "sent from the machine to itself"),
    PROC("iowait", SHARE, WAITING_FOR_IO_NS, false, "idle processors of which a thread waits for storage"),
    PROC("interrupts", PER_INTERVAL, INTERRUPTS, false, "interrupts of the machine"),
    {"cas-count-read", PER_INTERVAL, FROM_UNCORE, 0, 0, false, "lines of 64 bytes that the machine reads from memory"},
    {"cas-count-write", PER_INTERVAL, FROM_UNCORE, 0, 1, false, "lines of 64 bytes that it writes to memory"},
    PROC("memory-bytes", LEVEL, MEMORY_BYTES, false, "memory of the machine that is not available to new programs"),
};

/* The counters of a node: those of Table 1 in Tsafack Chetsa et al. (2012), in its order, and then the kernel's counts,
 * the only ones without access to the processor's counters. */
/* clang-format off */
static const char *const of_node[] = {
    "cycles", "instructions", "cache-references", "stalled-cycles-frontend", "cache-misses", "bus-cycles",
    "branches", "branch-misses", "net-tx-bytes", "net-tx-packets", "net-rx-bytes", "net-rx-packets",
    "disk-write-bytes", "disk-read-bytes", "cpu", "system", "iowait", "run-queue", "context-switches",
    "page-faults", "major-faults", "interrupts", "net-lo-bytes", "memory-bytes",
};
/* clang-format on */

#define EVENTS (sizeof events / sizeof *events)

static struct event raw[MOST_RAW];
static char raw_names[MOST_RAW][24];
static size_t raws;

const struct event *event_named(const char *name)
{
    for (size_t i = 0; i < EVENTS; i++)
        if (strcmp(events[i].name, name) == 0)
            return &events[i];
    return NULL;
}

void event_parts(const struct event *ratio, const struct event *parts[2])
{
    parts[0] = event_named("instructions");
    parts[1] = event_named(strcmp(ratio->name, "ipc") == 0 ? "cycles" : "ref-cycles");
}

enum field event_stand_in(const struct event *event)
{
    if (event->source != FROM_PERF || event->type != PERF_TYPE_SOFTWARE)
        return FIELDS;
    return event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ? SWITCHES
           : event->config == PERF_COUNT_SW_PAGE_FAULTS    ? FAULTS
                                                           : FIELDS;
}

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {[PER_INTERVAL] = "interval", [LEVEL] = "level",  [SHARE] = "share",
                                        [RATIO] = "ratio",           [ENERGY] = "watts", [WATTS] = "watts"};
    return names[kind];
}

bool event_is_of_kernel(const struct event *event)
{
    return event->type == PERF_TYPE_SOFTWARE &&
           (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES || event->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static bool add(const struct event *event, const struct event **chosen, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (chosen[i] == event)
            return true;
    if (event->kind == RATIO) {
        const struct event *parts[2];
        event_parts(event, parts);
        if (!add(parts[0], chosen, count) || !add(parts[1], chosen, count))
            return false;
    }
    if (*count == MOST_COLUMNS)
        return false;
    chosen[(*count)++] = event;
    return true;
}

/* Return the event of a raw code rNNN, in perf's notation, from the processor's manual. */
static const struct event *raw_event(const char *name)
{
    char *end = NULL;
    if (name[0] != 'r' || name[1] == '\0' || strlen(name) > 17 ||
        strspn(name + 1, "0123456789abcdefABCDEF") < strlen(name + 1))
        return NULL;
    for (size_t i = 0; i < raws; i++)
        if (strcmp(raw_names[i], name) == 0)
            return &raw[i];
    if (raws == MOST_RAW)
        return NULL;
    strcpy(raw_names[raws], name);
    raw[raws] = (struct event){
        raw_names[raws],          PER_INTERVAL, FROM_PERF, PERF_TYPE_RAW, strtoull(name + 1, &end, 16), false,
        "a code of the processor"};
    return &raw[raws++];
}

static bool add_node(const struct event **chosen, size_t *count)
{
    for (size_t i = 0; i < sizeof of_node / sizeof *of_node; i++)
        if (!add(event_named(of_node[i]), chosen, count))
            return false;
    return true;
}

static bool add_all(bool all, const struct event **chosen, size_t *count)
{
    for (size_t i = 0; i < EVENTS; i++)
        if ((all || events[i].by_default) && !add(&events[i], chosen, count))
            return false;
    return true;
}

const char *events_choose(const char *list, const struct event **chosen, size_t *count)
{
    char name[32];
    for (const char *at = list;;) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof name)
            return at;
        memcpy(name, at, length);
        name[length] = '\0';
        const struct event *event = event_named(name) != NULL ? event_named(name) : raw_event(name);
        bool many = strcmp(name, "all") == 0 || strcmp(name, "default") == 0, is_node = strcmp(name, "node") == 0;
        if (many      ? !add_all(name[0] == 'a', chosen, count)
            : is_node ? !add_node(chosen, count)
                      : event == NULL || !add(event, chosen, count))
            return at;
        if (at[length] == '\0')
            return NULL;
        at += length + 1;
    }
}
