/* CUPTI's records: buffers for them, and what they add to the sums.
 *
 * Thread safety: CUPTI asks for buffers and returns them on threads of its own and of the program, several at once.
 * They are libc's threads, so malloc works. The lock is held for a batch of records. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "cupti.h"
#include "gpu.h"
#include "sys.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define ALIGNMENT 16
#define BATCH 256

static const struct cupti *cupti;
static int (*read_clock)(uint64_t *ns); /* NULL: CUPTI's times are CLOCK_MONOTONIC's */

static uint64_t clock_now(void)
{
    return monotonic_ns();
}

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    void *memory = NULL;
    *most_records = 0;
    *size = posix_memalign(&memory, ALIGNMENT, BUFFER_BYTES) == 0 ? BUFFER_BYTES : 0;
    *buffer = *size > 0 ? memory : NULL;
}

static void add_kernel(const void *record)
{
    bool is_of_graph = gpu_version >= CUPTI_WITH_GRAPHS && field_u32(record, KERNEL_GRAPH) != 0;
    gpu_count(is_of_graph ? &gpu_totals.graph_kernels : &gpu_totals.kernels, 1);
    struct device_work work = {.correlation = field_u32(record, KERNEL_CORRELATION),
                               .what = kernel_name(field_pointer(record, KERNEL_NAME)),
                               .stream = field_u32(record, KERNEL_STREAM),
                               .device = device_lane(field_u32(record, KERNEL_DEVICE)),
                               .kind = SUM_KERNEL};
    launches_add_between(&work, field_u64(record, KERNEL_START), field_u64(record, KERNEL_END));
}

static void add_copy(const void *record, uint32_t kind)
{
    size_t correlation_at = kind == ACTIVITY_MEMCPY_PEER ? PEER_CORRELATION : COPY_CORRELATION;
    struct device_work work = {.bytes = field_u64(record, COPY_BYTES),
                               .correlation = field_u32(record, correlation_at),
                               .what = kind == ACTIVITY_MEMSET ? 0 : *((const uint8_t *)record + COPY_KIND),
                               .stream = field_u32(record, COPY_STREAM),
                               .device = device_lane(field_u32(record, COPY_DEVICE)),
                               .kind = SUM_COPY};
    launches_add_between(&work, field_u64(record, COPY_START), field_u64(record, COPY_END));
}

static void add_synchronization(const void *record)
{
    struct device_work wait;
    uint32_t type = field_u32(record, SYNC_TYPE);
    if (type != SYNC_STREAM_WAIT_EVENT &&
        clock_times(&wait, field_u64(record, SYNC_START), field_u64(record, SYNC_END)))
        launches_add_wait(type, field_u32(record, SYNC_STREAM), wait.start_ns, wait.end_ns);
}

static void add(const void *record)
{
    uint32_t kind = field_u32(record, 0);
    if (kind == ACTIVITY_KERNEL || kind == ACTIVITY_CONCURRENT_KERNEL)
        add_kernel(record);
    else if (kind == ACTIVITY_MEMCPY || kind == ACTIVITY_MEMCPY_PEER || kind == ACTIVITY_MEMSET)
        add_copy(record, kind);
    else if (kind == ACTIVITY_SYNCHRONIZATION)
        add_synchronization(record);
    else if (kind == ACTIVITY_DEVICE)
        device_name(field_u32(record, DEVICE_NUMBER), field_pointer(record, DEVICE_NAME));
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    void *record = NULL;
    size_t dropped = 0;
    clock_measure(read_clock);
    for (bool is_more = valid > 0 && gpu_is_recording(); is_more;) {
        uint64_t mask = gpu_lock();
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

/* A flush returns buffers whose records are all complete, and the last one also others. CUPTI by itself, also with a
 * period of its own, returns full ones only. */
static void flush(bool is_last)
{
    cupti->flush(is_last ? CUPTI_FORCED : 0);
}

int activity_start(const struct cupti *functions)
{
    int result;
    cupti = functions;
    if (cupti->register_timestamp == NULL || cupti->register_timestamp(clock_now) != CUPTI_OK)
        read_clock = cupti->timestamp;
    clock_measure(read_clock);
    if ((result = cupti->register_callbacks(request, complete)) != CUPTI_OK)
        return result;
    /* Concurrent kernels: the other kind would run them one after the other. */
    if ((result = cupti->enable(ACTIVITY_CONCURRENT_KERNEL)) != CUPTI_OK)
        return result;
    cupti->enable(ACTIVITY_DEVICE);
    cupti->enable(ACTIVITY_MEMCPY);
    cupti->enable(ACTIVITY_MEMCPY_PEER);
    cupti->enable(ACTIVITY_MEMSET);
    cupti->enable(ACTIVITY_SYNCHRONIZATION);
    flush_start(flush);
    return CUPTI_OK;
}
