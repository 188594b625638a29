/* Thread safety: the collector's, under its lock.
 *
 * The kernel counts all events of a group at a time, or none. The leader of the first group is the software task clock,
 * which exists everywhere; the others exist on some processors, and share its counters in turn. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>

#include "counters.h"
#include "fixed_text.h"
#include "log.h"
#include "sys.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define DEVICE "/sys/bus/event_source/devices/cpu/events/"
#define ARM_SLOTS "/sys/bus/event_source/devices/armv8_pmuv3_0/caps/slots"
#define AMD_EVENT(event, unit) (((event) & 0xffull) | (uint64_t)((event) >> 8) << 32 | (uint64_t)(unit) << 8)

enum vendor { OTHER, INTEL, AMD, ARM, ANY };
enum { BASIC, SLOTS, DOUBLES, SINGLES, LOADS };

/* In the order of the counters' numbers. `file`: the kernel's name of an event, whose file has its number. */
static const struct {
    enum vendor vendor;
    int group;
    uint32_t type;
    uint64_t config;
    const char *file;
} kinds[EVENTS] = {
    {ANY, BASIC, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, NULL},
    {ANY, BASIC, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, NULL},
    {ANY, BASIC, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NULL},
    {ANY, BASIC, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NULL},
    {ANY, BASIC, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, NULL},
    {ANY, BASIC, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, NULL},
    {ANY, BASIC, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, NULL},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "slots"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-retiring"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-bad-spec"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-fe-bound"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-be-bound"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-mem-bound"},
    /* FP_ARITH_INST_RETIRED: event 0xc7, a bit of the unit mask for each width. */
    {INTEL, DOUBLES, PERF_TYPE_RAW, 0x01c7, NULL},
    {INTEL, DOUBLES, PERF_TYPE_RAW, 0x04c7, NULL},
    {INTEL, DOUBLES, PERF_TYPE_RAW, 0x10c7, NULL},
    {INTEL, DOUBLES, PERF_TYPE_RAW, 0x40c7, NULL},
    {INTEL, SINGLES, PERF_TYPE_RAW, 0x02c7, NULL},
    {INTEL, SINGLES, PERF_TYPE_RAW, 0x08c7, NULL},
    {INTEL, SINGLES, PERF_TYPE_RAW, 0x20c7, NULL},
    {INTEL, SINGLES, PERF_TYPE_RAW, 0x80c7, NULL},
    /* The Processor Programming References of AMD, by the names that perf gives these. */
    {AMD, DOUBLES, PERF_TYPE_RAW, AMD_EVENT(0x003, 0x0f), NULL},
    {AMD, SLOTS, PERF_TYPE_RAW, AMD_EVENT(0x0c1, 0x00), NULL},
    {AMD, SLOTS, PERF_TYPE_RAW, AMD_EVENT(0x0aa, 0x07), NULL},
    {AMD, SLOTS, PERF_TYPE_RAW, AMD_EVENT(0x1a0, 0x01), NULL},
    {AMD, SLOTS, PERF_TYPE_RAW, AMD_EVENT(0x1a0, 0x1e), NULL},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-heavy-ops"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-br-mispredict"},
    {INTEL, SLOTS, PERF_TYPE_RAW, 0, "topdown-fetch-lat"},
    {AMD, LOADS, PERF_TYPE_RAW, AMD_EVENT(0x0d6, 0x02), NULL},
    {AMD, LOADS, PERF_TYPE_RAW, AMD_EVENT(0x0d6, 0xa2), NULL},
    /* The Arm Architecture Reference Manual, common events of the PMU: CPU_CYCLES, STALL_SLOT_FRONTEND,
     * STALL_SLOT_BACKEND, OP_RETIRED, OP_SPEC. */
    {ARM, SLOTS, PERF_TYPE_RAW, 0x11, NULL},
    {ARM, SLOTS, PERF_TYPE_RAW, 0x3e, NULL},
    {ARM, SLOTS, PERF_TYPE_RAW, 0x3d, NULL},
    {ARM, SLOTS, PERF_TYPE_RAW, 0x3a, NULL},
    {ARM, SLOTS, PERF_TYPE_RAW, 0x3b, NULL},
};

static uint64_t arm_width; /* slots of a cycle */

static const char *trouble, *reported_trouble;
static bool lack_is_known; /* to the user */

void thread_events_begin(bool lack_is_reported)
{
    lack_is_known = lack_is_reported;
}

/* Return the number behind `word` in a text such as event=0x00,umask=0x80. */
static uint64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    uint64_t number = 0;
    for (at = at != NULL ? at + strlen(word) : ""; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
        number = number * 16 + (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return number;
}

static bool read_file(const char *path, char *text, size_t size)
{
    int fd = sys_open(path, O_RDONLY, 0);
    long got = fd >= 0 ? SYS4(SYS_pread64, fd, text, size - 1, 0) : -1;
    if (fd >= 0)
        sys_close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static enum vendor vendor_of_processor(void)
{
#if defined(__x86_64__)
    unsigned int level, name[3], signature, b, c, d;
    if (__get_cpuid(0, &level, &name[0], &name[2], &name[1]) == 0)
        return OTHER;
    if (memcmp(name, "GenuineIntel", sizeof name) == 0)
        return INTEL;
    /* Zen 4 is family 0x19 from model 0x10 on; the slots of later families differ. */
    if (memcmp(name, "AuthenticAMD", sizeof name) == 0 && __get_cpuid(1, &signature, &b, &c, &d) != 0) {
        unsigned int family = (signature >> 8 & 15) + (signature >> 20 & 255);
        unsigned int model = (signature >> 4 & 15) | (signature >> 12 & 0xf0);
        return family == 0x19 && model >= 0x10 ? AMD : OTHER;
    }
#endif
    char text[32];
    arm_width = read_file(ARM_SLOTS, text, sizeof text) ? number_after(text, "0x") : 0;
    return arm_width > 0 ? ARM : OTHER;
}

/* Return the number of an event that has a file. False if this processor has no such event. */
static bool number_of(const char *file, uint64_t *config)
{
    char path[128] = DEVICE, text[128];
    text_append(path, sizeof path, file);
    bool has_file = read_file(path, text, sizeof text);
    *config = number_after(text, "event=0x") | number_after(text, "umask=0x") << 8;
    return has_file;
}

/* Open one event. Where the kernel's part may not be counted, count the program's own; a migration is the kernel's. */
static int open_event(int kind, uint64_t config, pid_t tid, int leader)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = kinds[kind].type,
                                   .config = config,
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
    else if (lack_is_known)
        return;
    else if (error == -EACCES || error == -EPERM || error == -ENOSYS)
        trouble = "counters are not permitted here (see kernel.perf_event_paranoid and incprof doctor): only page "
                  "faults, context switches and memory are counted";
    else if (error != -ESRCH)
        trouble = "this machine offers no hardware counters (a virtual machine?): only page faults, context switches "
                  "and memory are counted";
}

/* Return whether no event before this one is of the same group and processor: it leads the group. */
static bool is_leader(int kind)
{
    for (int i = 0; i < kind; i++)
        if (kinds[i].group == kinds[kind].group && kinds[i].vendor == kinds[kind].vendor)
            return false;
    return true;
}

/* Without cycles there is no hardware to count the other groups either. */
void thread_events_open(struct thread_events *events, pid_t tid)
{
    static enum vendor vendor = ANY;
    int leader[EVENT_GROUPS];
    const int cycles = COUNTER_CYCLES - COUNTER_TASK_CLOCK;
    if (vendor == ANY)
        vendor = vendor_of_processor();
    memset(events, 0, sizeof *events);
    memset(leader, -1, sizeof leader);
    events->tid = tid;
    for (int i = 0; i < EVENTS; i++) {
        int group = kinds[i].group;
        uint64_t config = kinds[i].config;
        events->fd[i] = -1;
        if ((kinds[i].vendor != ANY && (kinds[i].vendor != vendor || events->fd[cycles] < 0)) ||
            (group == BASIC && i > 0 && leader[BASIC] < 0) ||
            (kinds[i].file != NULL && !number_of(kinds[i].file, &config)))
            continue;
        if (!is_leader(i) && leader[group] < 0 && group != BASIC)
            continue; /* the group has no leader here */
        events->fd[i] = open_event(i, config, tid, leader[group]);
        if (leader[group] < 0)
            leader[group] = events->fd[i];
    }
    if (events->fd[0] < 0)
        note(events->fd[0]);
    else if (events->fd[cycles] < 0)
        note(events->fd[cycles]);
}

void thread_events_close(struct thread_events *events)
{
    for (int i = EVENTS; events->tid != 0 && i-- > 0;)
        if (events->fd[i] >= 0)
            sys_close(events->fd[i]);
    events->tid = 0;
}

/* A count is extrapolated where the group shared the counters of the processor with others. */
static void take_group(struct thread_events *events, int group, int leader, struct counter_values *values)
{
    struct {
        uint64_t count, enabled, running, value[EVENTS];
    } now;
    long got = SYS3(SYS_read, events->fd[leader], &now, sizeof now);
    if (got < (long)(3 * sizeof(uint64_t)) || got < (long)((3 + now.count) * sizeof(uint64_t)))
        return;
    uint64_t enabled = now.enabled - events->enabled[group], running = now.running - events->running[group];
    if (running == 0)
        return;
    for (int i = leader, at = 0; i < EVENTS && at < (int)now.count; i++) {
        if (kinds[i].group != group || events->fd[i] < 0)
            continue;
        uint64_t more = now.value[at] - events->value[i];
        if (running < enabled)
            more = (uint64_t)((unsigned __int128)more * enabled / running);
        values->value[COUNTER_TASK_CLOCK + i] += i == COUNTER_ARM_SLOTS - COUNTER_TASK_CLOCK ? more * arm_width : more;
        values->present |= (uint64_t)1 << (COUNTER_TASK_CLOCK + i);
        events->value[i] = now.value[at++];
    }
    events->enabled[group] = now.enabled;
    events->running[group] = now.running;
}

void thread_events_take(struct thread_events *events, struct counter_values *values)
{
    bool is_taken[EVENT_GROUPS] = {false};
    for (int i = 0; events->tid != 0 && i < EVENTS; i++) {
        int group = kinds[i].group;
        if (events->fd[i] < 0 || is_taken[group])
            continue;
        is_taken[group] = true;
        take_group(events, group, i, values);
    }
}

void thread_events_report(void)
{
    if (trouble == reported_trouble)
        return;
    reported_trouble = trouble;
    log_warn(trouble, NULL);
}
