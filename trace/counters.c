/* Thread safety: `asked` is written before main, `count` and `error` before there is a lane. A thread's counters are
 * its own. */
#define _GNU_SOURCE
#include "counters.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "environment.h"
#include "log.h"
#include "sys.h"

#define VARIABLE "INCPROF_TRACE_COUNTERS"
#define BY_DEFAULT "instructions,cache-misses"
#define PAGE_BYTES 4096u
#define FEWEST_DESCRIPTORS 256 /* a program with a lower limit needs them all */
#define LOWEST_DESCRIPTOR 1000 /* of ours, if the limit permits */

#ifndef MADV_WIPEONFORK /* Linux 4.14 */
#define MADV_WIPEONFORK 18
#endif

struct event_type {
    const char *name;
    uint32_t type;
    uint64_t config;
};

static const struct event_type event_types[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
};

static const struct event_type *asked[MOST_COUNTERS];
static uint32_t requested_count, count;
static long error;

static const struct event_type *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof event_types / sizeof *event_types; i++)
        if (strlen(event_types[i].name) == length && memcmp(event_types[i].name, name, length) == 0)
            return &event_types[i];
    return NULL;
}

static bool parse(const char *text)
{
    requested_count = 0;
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        const struct event_type *one = find(at, comma != NULL ? (size_t)(comma - at) : strlen(at));
        if (one == NULL || requested_count == MOST_COUNTERS)
            return false;
        asked[requested_count++] = one;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

void counters_configure(void)
{
    const char *text = environment_text(VARIABLE);
    if (text != NULL && strcmp(text, "off") == 0)
        return;
    if (text != NULL && parse(text))
        return;
    if (text != NULL)
        environment_complain(VARIABLE, text, BY_DEFAULT);
    parse(BY_DEFAULT);
}

uint32_t counters_count(void)
{
    return count;
}

const char *counters_name(uint32_t number)
{
    return asked[number]->name;
}

const char *counters_missing(void)
{
    return requested_count == 0 ? "off" : reason_name(error);
}

/* Open an event of the calling thread, in user mode only, as perf_event_paranoid 2 permits. */
static long open_event(const struct event_type *one, int leader)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = one->type,
        .config = one->config,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    return SYS5(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

void counters_choose(void)
{
    int fds[MOST_COUNTERS];
    for (count = 0; count < requested_count; count++) {
        long fd = open_event(asked[count], count > 0 ? fds[0] : -1);
        if (fd < 0) {
            error = fd;
            break;
        }
        fds[count] = (int)fd;
    }
    for (uint32_t i = count; i > 0; i--)
        sys_close(fds[i - 1]);
}

struct counters *counters_new(void)
{
    struct counters *counters = count > 0 ? sys_alloc(PAGE_BYTES) : NULL;
    if (counters != NULL)
        SYS3(SYS_madvise, counters, PAGE_BYTES, MADV_WIPEONFORK);
    return counters;
}

static const struct perf_event_mmap_page *map(int fd)
{
    long at = SYS6(SYS_mmap, 0, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    return at < 0 && at > -4096 ? NULL : (const struct perf_event_mmap_page *)at;
}

static bool pages_are_read(const struct counters *counters)
{
#if defined(__x86_64__)
    for (uint32_t i = 0; i < count; i++)
        if (!counters->pages[i]->cap_user_rdpmc || counters->pages[i]->index == 0)
            return false;
    return true;
#else
    (void)counters;
    return false;
#endif
}

/* Move the descriptor to a high number that the program is unlikely to reach. Returns it or negative errno. */
static long move_up(int fd)
{
    struct rlimit limit = {0, 0};
    if (SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0 || limit.rlim_cur < FEWEST_DESCRIPTORS)
        return -EMFILE;
    long lowest = limit.rlim_cur > LOWEST_DESCRIPTOR ? LOWEST_DESCRIPTOR : (long)limit.rlim_cur * 3 / 4;
    return SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

/* A mapped page keeps its event alive after the descriptor is closed. */
void counters_open(struct counters *counters)
{
    int fds[MOST_COUNTERS];
    uint32_t opened = 0;
    bool is_mapped = true;
    *counters = (struct counters){.fd = -1};
    while (opened < count) {
        long fd = open_event(asked[opened], opened > 0 ? fds[0] : -1);
        if (fd < 0)
            break;
        fds[opened] = (int)fd;
        counters->pages[opened++] = map((int)fd);
        is_mapped = is_mapped && counters->pages[opened - 1] != NULL;
    }
    counters->is_counting = opened == count && is_mapped;
    if (counters->is_counting && !pages_are_read(counters)) {
        long fd = move_up(fds[0]);
        counters->fd = fd < 0 ? -1 : (int)fd;
        counters->is_counting = fd >= 0 && SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &counters->id) == 0;
    }
    for (uint32_t i = 0; i < opened; i++)
        sys_close(fds[i]);
    if (!counters->is_counting)
        counters_close(counters);
}

static bool is_ours(const struct counters *counters)
{
    uint64_t id = 0;
    return counters->fd >= 0 && SYS3(SYS_ioctl, counters->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == counters->id;
}

void counters_close(struct counters *counters)
{
    if (is_ours(counters))
        sys_close(counters->fd);
    for (uint32_t i = 0; i < MOST_COUNTERS; i++)
        sys_free((void *)(uintptr_t)counters->pages[i], PAGE_BYTES);
    *counters = (struct counters){.fd = -1};
}

#ifndef READ_COUNTER /* tests simulate the processor */
#if defined(__x86_64__)
#define READ_COUNTER(index) __builtin_ia32_rdpmc(index)
#else
#define READ_COUNTER(index) 0
#endif
#endif

/* Read the page by the protocol of <linux/perf_event.h>: repeat a read during which the kernel wrote. An event without
 * a hardware counter (index 0) is currently not counted, and that time is not in the page yet. */
static bool read_page(const struct perf_event_mmap_page *page, uint64_t *value, uint64_t *idle_ns)
{
    uint32_t lock, index;
    do {
        lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        index = page->index;
        uint64_t passed = 0;
        if (index != 0 && page->cap_user_rdpmc) {
            unsigned int unused = 64 - page->pmc_width;
            passed = (uint64_t)((int64_t)((uint64_t)READ_COUNTER((int)index - 1) << unused) >> unused);
        }
        *value = (uint64_t)page->offset + passed;
        *idle_ns = page->time_enabled - page->time_running;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&page->lock, __ATOMIC_ACQUIRE) != lock);
    return index != 0;
}

static struct reading read_descriptor(struct counters *counters)
{
    struct {
        uint64_t events, enabled, running, values[MOST_COUNTERS];
    } now;
    struct reading reading = {.is_valid = false};
    if (!is_ours(counters)) {
        counters->is_counting = false;
        return reading;
    }
    size_t bytes = (3 + count) * sizeof(uint64_t);
    if (SYS3(SYS_read, counters->fd, &now, bytes) != (long)bytes)
        return reading;
    reading = (struct reading){.idle_ns = now.enabled - now.running, .is_valid = now.running > 0};
    memcpy(reading.value, now.values, count * sizeof(uint64_t));
    return reading;
}

struct reading counters_read(struct counters *counters)
{
    struct reading reading = {.is_valid = true};
    if (!counters->is_counting)
        return (struct reading){.is_valid = false};
    if (counters->fd >= 0)
        return read_descriptor(counters);
    for (uint32_t i = 0; i < count; i++)
        reading.is_valid = read_page(counters->pages[i], &reading.value[i], &reading.idle_ns) && reading.is_valid;
    return reading;
}
