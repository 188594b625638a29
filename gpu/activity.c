/* CUPTI's records: buffers for them, and what they add to the sums.
 *
 * Thread safety: CUPTI asks for buffers and returns them on threads of its own and of the program, several at once.
 * They are libc's threads, so malloc works. The lock is held for a batch of records. `clock_offset_ns` is atomic. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "gpu.h"
#include "sys.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define ALIGNMENT 16
#define FLUSH_MS 1000
#define BATCH 256
#define SLACK_NS ((uint64_t)1000000000) /* by which clocks may differ */

static const struct cupti *cupti;
static bool has_own_clock; /* CUPTI's times are not CLOCK_MONOTONIC's */
static int64_t clock_offset_ns;
static uint64_t earliest_ns, latest_ns; /* times of records; the latter under the lock */

static uint64_t clock_now(void)
{
    return monotonic_ns();
}

static void measure_clock(void)
{
    uint64_t theirs = 0;
    uint64_t before_ns = monotonic_ns();
    if (!has_own_clock || cupti->timestamp(&theirs) != CUPTI_OK)
        return;
    uint64_t ours = before_ns + (monotonic_ns() - before_ns) / 2;
    __atomic_store_n(&clock_offset_ns, (int64_t)(ours - theirs), __ATOMIC_RELAXED);
}

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    void *memory = NULL;
    *most_records = 0;
    *size = posix_memalign(&memory, ALIGNMENT, BUFFER_BYTES) == 0 ? BUFFER_BYTES : 0;
    *buffer = *size > 0 ? memory : NULL;
}

/* Read a record's times on our clock; false: it had not ended, or the times make no sense. */
static bool times(const void *record, size_t start_at, size_t end_at, uint64_t *start_ns, uint64_t *end_ns)
{
    uint64_t start = field_u64(record, start_at), end = field_u64(record, end_at);
    int64_t offset = __atomic_load_n(&clock_offset_ns, __ATOMIC_RELAXED);
    *start_ns = start + (uint64_t)offset;
    *end_ns = end + (uint64_t)offset;
    return start != 0 && *start_ns >= earliest_ns && *end_ns >= *start_ns && *end_ns <= latest_ns;
}

static uint16_t lane_of(uint32_t device)
{
    return (uint16_t)(device < MOST_DEVICES ? device : MOST_DEVICES - 1);
}

static void add_kernel(const void *record)
{
    uint64_t start_ns, end_ns;
    bool is_of_graph = gpu_version >= CUPTI_WITH_GRAPHS && field_u32(record, KERNEL_GRAPH) != 0;
    gpu_count(is_of_graph ? &gpu_totals.graph_kernels : &gpu_totals.kernels, 1);
    if (!times(record, KERNEL_START, KERNEL_END, &start_ns, &end_ns)) {
        gpu_count(&gpu_totals.incomplete, 1);
        return;
    }
    uintptr_t name = 0;
    memcpy(&name, (const uint8_t *)record + KERNEL_NAME, sizeof name);
    const struct device_work work = {.start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .correlation = field_u32(record, KERNEL_CORRELATION),
                                     .what = kernel_name((const char *)name),
                                     .stream = field_u32(record, KERNEL_STREAM),
                                     .device = lane_of(field_u32(record, KERNEL_DEVICE)),
                                     .kind = SUM_KERNEL};
    launches_add(&work);
}

static void add_copy(const void *record, size_t correlation_at, bool is_memset)
{
    uint64_t start_ns, end_ns;
    if (!times(record, COPY_START, COPY_END, &start_ns, &end_ns))
        return;
    const struct device_work work = {.start_ns = start_ns,
                                     .end_ns = end_ns,
                                     .bytes = field_u64(record, COPY_BYTES),
                                     .correlation = field_u32(record, correlation_at),
                                     .what = is_memset ? 0 : *((const uint8_t *)record + COPY_KIND),
                                     .stream = field_u32(record, COPY_STREAM),
                                     .device = lane_of(field_u32(record, COPY_DEVICE)),
                                     .kind = SUM_COPY};
    launches_add(&work);
}

static void add_synchronization(const void *record)
{
    uint64_t start_ns, end_ns;
    uint32_t type = field_u32(record, SYNC_TYPE);
    if (type == SYNC_STREAM_WAIT_EVENT || !times(record, SYNC_START, SYNC_END, &start_ns, &end_ns))
        return;
    work_add_wait(type, field_u32(record, SYNC_STREAM), start_ns, end_ns);
}

static void add_device(const void *record)
{
    uintptr_t name = 0;
    memcpy(&name, (const uint8_t *)record + DEVICE_NAME, sizeof name);
    device_name(field_u32(record, DEVICE_NUMBER), (const char *)name);
}

static void add(const void *record)
{
    switch (field_u32(record, 0)) {
    case ACTIVITY_KERNEL:
    case ACTIVITY_CONCURRENT_KERNEL:
        add_kernel(record);
        break;
    case ACTIVITY_MEMCPY:
        add_copy(record, COPY_CORRELATION, false);
        break;
    case ACTIVITY_MEMCPY_PEER:
        add_copy(record, PEER_CORRELATION, false);
        break;
    case ACTIVITY_MEMSET:
        add_copy(record, COPY_CORRELATION, true);
        break;
    case ACTIVITY_DEVICE:
        add_device(record);
        break;
    case ACTIVITY_SYNCHRONIZATION:
        add_synchronization(record);
        break;
    default:
        break;
    }
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    void *record = NULL;
    size_t dropped = 0;
    measure_clock();
    for (bool is_more = valid > 0 && gpu_is_recording(); is_more;) {
        uint64_t mask = gpu_lock();
        latest_ns = monotonic_ns() + SLACK_NS;
        for (int i = 0; i < BATCH && is_more; i++) {
            is_more = cupti->next_record(buffer, valid, &record) == CUPTI_OK;
            if (is_more)
                add(record);
        }
        gpu_unlock(mask);
    }
    trace_report();
    if (cupti->dropped != NULL && cupti->dropped(context, stream, &dropped) == CUPTI_OK)
        gpu_count(&gpu_totals.dropped, dropped);
    free(buffer);
}

bool activity_start(const struct cupti *functions)
{
    cupti = functions;
    earliest_ns = monotonic_ns();
    earliest_ns -= earliest_ns < SLACK_NS ? earliest_ns : SLACK_NS;
    has_own_clock = cupti->register_timestamp == NULL || cupti->register_timestamp(clock_now) != CUPTI_OK;
    measure_clock();
    if (cupti->register_callbacks(request, complete) != CUPTI_OK)
        return false;
    /* Concurrent kernels: the other kind would run them one after the other. */
    if (cupti->enable(ACTIVITY_CONCURRENT_KERNEL) != CUPTI_OK)
        return false;
    cupti->enable(ACTIVITY_DEVICE);
    cupti->enable(ACTIVITY_MEMCPY);
    cupti->enable(ACTIVITY_MEMCPY_PEER);
    cupti->enable(ACTIVITY_MEMSET);
    cupti->enable(ACTIVITY_SYNCHRONIZATION);
    if (cupti->flush_period != NULL)
        cupti->flush_period(FLUSH_MS);
    return true;
}

void activity_finish(void)
{
    cupti->flush(1);
}
