#define _GNU_SOURCE
#include "perf_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NANO 1000000000u
#define LEAST_RING ((uint64_t)64 << 10)
#define MOST_RING ((uint64_t)16 << 20)
/* A ring holds the samples of this time, and is emptied four times as often, because this process may be late. */
#define RING_NS ((uint64_t)400 * 1000000)
#define LONGEST_DRAIN_NS ((uint64_t)100 * 1000000)
#define SMALL_FIELDS 256 /* bytes of a sample without its stack */

static int open_event(const struct events *events, pid_t tid, int cpu)
{
    long fd = syscall(SYS_perf_event_open, &events->attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static int keep(struct events *events, int fd)
{
    if (events->fd_count == events->fd_capacity) {
        size_t capacity = events->fd_capacity > 0 ? 2 * events->fd_capacity : 64;
        int *more = realloc(events->fds, capacity * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        events->fds = more;
        events->fd_capacity = capacity;
    }
    events->fds[events->fd_count++] = fd;
    return 0;
}

/* Map a ring. Without a permission to lock more, a user has some 512 KiB per processor (perf_event_mlock_kb). */
static int map_ring(struct ring *ring, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    void *at = MAP_FAILED;
    for (; at == MAP_FAILED && bytes >= LEAST_RING; bytes /= 2) {
        at = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        ring->bytes = bytes;
    }
    if (at == MAP_FAILED)
        return -errno;
    ring->page = at;
    ring->data = (const uint8_t *)at + page;
    ring->straight = malloc(MOST_RECORD_BYTES);
    return ring->straight != NULL ? 0 : -ENOMEM;
}

static uint64_t bytes_per_second(uint64_t rate_hz, uint32_t stack_bytes)
{
    return rate_hz * (stack_bytes + SMALL_FIELDS);
}

/* Return the size of a ring. A processor runs one thread at a time, so its samples come at most at the rate. */
static uint64_t ring_bytes(uint64_t rate_hz, uint32_t stack_bytes)
{
    uint64_t wanted = bytes_per_second(rate_hz, stack_bytes) / 1000 * (RING_NS / 1000000);
    uint64_t bytes = 4 * LEAST_RING;
    while (bytes < wanted && bytes < MOST_RING)
        bytes *= 2;
    return bytes;
}

/* Open the rings; offline processors have none. */
static int open_rings(struct events *events, pid_t tid, uint64_t bytes)
{
    int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
    events->rings = calloc((size_t)cpus, sizeof *events->rings);
    if (events->rings == NULL)
        return -ENOMEM;
    for (int cpu = 0; cpu < cpus; cpu++) {
        int fd = open_event(events, tid, cpu);
        if (fd == -ENODEV)
            continue;
        if (fd < 0)
            return fd;
        struct ring *ring = &events->rings[events->ring_count++];
        *ring = (struct ring){.cpu = cpu, .fd = fd};
        int error = keep(events, fd);
        error = error != 0 ? error : map_ring(ring, bytes);
        if (error != 0)
            return error;
    }
    return events->ring_count > 0 ? 0 : -ENODEV;
}

static void set_drain(struct events *events, uint64_t rate_hz, uint32_t stack_bytes)
{
    uint64_t fills_ns = events->rings[0].bytes * 1000 / (bytes_per_second(rate_hz, stack_bytes) / 1000000 + 1);
    events->drain_ns = fills_ns / 4 < LONGEST_DRAIN_NS ? fills_ns / 4 : LONGEST_DRAIN_NS;
}

int events_open(struct events *events, pid_t tid, bool on_exec, uint64_t rate_hz, uint32_t stack_bytes)
{
    const struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = NANO / rate_hz,
        .sample_type = SAMPLE_FIELDS,
        .sample_regs_user = USER_REGISTERS,
        .sample_stack_user = stack_bytes,
        .inherit = 1,
        .disabled = on_exec,
        .enable_on_exec = on_exec,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .wakeup_events = 1, /* for poll */
    };
    uint64_t bytes = ring_bytes(rate_hz, stack_bytes);
    *events = (struct events){.attr = attr, .sees_kernel = true};
    int error = open_rings(events, tid, bytes);
    if (error == -EACCES || error == -EPERM) {
        events_close(events);
        *events = (struct events){.attr = attr};
        events->attr.exclude_kernel = events->attr.exclude_hv = 1;
        error = open_rings(events, tid, bytes);
    }
    if (error != 0)
        events_close(events);
    else
        set_drain(events, rate_hz, stack_bytes);
    return error;
}

int events_add(struct events *events, pid_t tid)
{
    for (size_t i = 0; i < events->ring_count; i++) {
        int fd = open_event(events, tid, events->rings[i].cpu);
        if (fd < 0)
            return fd;
        int error = keep(events, fd);
        if (error == 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, events->rings[i].fd) != 0)
            error = -errno;
        if (error != 0)
            return error;
    }
    return 0;
}

void events_stop(const struct events *events)
{
    for (size_t i = 0; i < events->fd_count; i++)
        ioctl(events->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* Return the complete record at `ring->at`. */
static const struct perf_event_header *record_of(const struct ring *ring)
{
    uint64_t at = ring->at & (ring->bytes - 1);
    const struct perf_event_header *header = (const void *)(ring->data + at); /* eight bytes, aligned */
    uint64_t first = ring->bytes - at;
    if (header->size <= first)
        return header;
    memcpy(ring->straight, ring->data + at, first);
    memcpy(ring->straight + first, ring->data, header->size - first);
    return (const void *)ring->straight;
}

static uint64_t time_of(const struct perf_event_header *header)
{
    if (header->type == PERF_RECORD_SAMPLE)
        return ((const struct sample_start *)header)->time_ns;
    const uint8_t *end = (const uint8_t *)header + header->size;
    return ((const struct record_end *)(end - sizeof(struct record_end)))->time_ns;
}

/* Read the rings' heads, once until all records up to them are taken, because they are in memory that all processors
 * write to. Records that arrive meanwhile are newer, or are taken the next time. */
static void read_heads(struct events *events)
{
    for (size_t i = 0; i < events->ring_count; i++) {
        struct ring *ring = &events->rings[i];
        ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    }
    events->has_looked = true;
}

/* Release the record that was returned last. */
static void release_ring(struct events *events)
{
    struct ring *ring = events->taken;
    if (ring != NULL)
        __atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
    events->taken = NULL;
}

static struct ring *find_oldest(struct events *events, uint64_t until_ns)
{
    struct ring *oldest = NULL;
    for (size_t i = 0; i < events->ring_count; i++) {
        struct ring *ring = &events->rings[i];
        if (ring->at == ring->head)
            continue;
        if (ring->time_ns == 0)
            ring->time_ns = time_of(record_of(ring)) | 1;
        if (ring->time_ns <= until_ns && (oldest == NULL || ring->time_ns < oldest->time_ns))
            oldest = ring;
    }
    return oldest;
}

const struct perf_event_header *events_next(struct events *events, uint64_t until_ns, uint64_t *time_ns)
{
    release_ring(events);
    if (!events->has_looked)
        read_heads(events);
    struct ring *oldest = find_oldest(events, until_ns);
    events->has_looked = oldest != NULL;
    if (oldest == NULL)
        return NULL;
    const struct perf_event_header *record = record_of(oldest);
    *time_ns = oldest->time_ns;
    oldest->at += record->size;
    oldest->time_ns = 0;
    events->taken = oldest;
    return record;
}

void events_close(struct events *events)
{
    for (size_t i = 0; i < events->ring_count; i++) {
        struct ring *ring = &events->rings[i];
        if (ring->page != NULL)
            munmap(ring->page, (uint64_t)sysconf(_SC_PAGESIZE) + ring->bytes);
        free(ring->straight);
    }
    for (size_t i = 0; i < events->fd_count; i++)
        close(events->fds[i]);
    free(events->fds);
    free(events->rings);
    *events = (struct events){.ring_count = 0};
}
