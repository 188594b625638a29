/* rocprofiler-sdk's records of kernels, copies and waits, and what they add to the sums.
 *
 * A kernel or copy gets a number (`TRACED_ID`) on the thread that enqueues it, which its record has again: the numbers
 * count up, as those of CUPTI do.
 *
 * Thread safety: one thread at a time delivers records, on a thread of rocprofiler-sdk's or of the program. The lock is
 * held for a batch of records. `request` takes no lock. */
#define _GNU_SOURCE
#include "rocprofiler.h"

#define BATCH 256
#define STREAM_OF_COPIES 0 /* queues are numbered from 1 */
#define MOST_WAITS 8

/* HIP's functions that wait, as CUPTI's types of synchronisations. */
static const struct {
    const char *name;
    uint32_t type;
} waiting[] = {{"hipEventSynchronize", 1},
               {"hipStreamSynchronize", 3},
               {"hipStreamSynchronize_spt", 3},
               {"hipDeviceSynchronize", 4},
               {"hipCtxSynchronize", 4}};

static const struct rocprofiler *rocprofiler;
static int32_t wait_operations[MOST_WAITS];
static uint32_t wait_types[MOST_WAITS];
static size_t wait_count;
static uint64_t gpus[MOST_DEVICES]; /* agents */
static int gpus_count;
static uint64_t dropped_before;

/* Learn the numbers and names of the GPUs among all agents. */
static int learn_gpus(int version, const void **agents, size_t count, void *data)
{
    uint64_t mask = gpu_lock();
    for (size_t i = 0; i < count && gpus_count < MOST_DEVICES; i++) {
        if (field_u32(agents[i], AGENT_TYPE) != AGENT_IS_GPU)
            continue;
        device_name((uint32_t)gpus_count, field_pointer(agents[i], AGENT_PRODUCT));
        gpus[gpus_count++] = field_u64(agents[i], AGENT_ID);
    }
    gpu_unlock(mask);
    return ROCPROFILER_OK;
}

/* Return the GPU's number, or -1: the agent is no GPU, or unknown. */
static int gpu_of(uint64_t agent)
{
    for (int i = 0; i < gpus_count; i++)
        if (gpus[i] == agent)
            return i;
    return -1;
}

static void add_work(const void *record, struct device_work *work, int gpu)
{
    work->device = (uint16_t)(gpu < 0 ? MOST_DEVICES - 1 : gpu);
    work->correlation = field_u32(record, TRACED_ID);
    launches_add_between(work, field_u64(record, TRACED_START), field_u64(record, TRACED_END));
}

static void add_kernel(const void *record)
{
    if (field_u64(record, TRACED_SIZE) < DISPATCH_BYTES)
        return;
    gpu_count(&gpu_totals.kernels, 1);
    struct device_work work = {.what = kernel_name(kernels_find(field_u64(record, DISPATCH_KERNEL))),
                               .stream = (uint32_t)field_u64(record, DISPATCH_QUEUE) + 1,
                               .kind = SUM_KERNEL};
    add_work(record, &work, gpu_of(field_u64(record, DISPATCH_AGENT)));
}

static void add_copy(const void *record)
{
    static const uint32_t kinds_of_cupti[] = {[COPY_HOST_HOST] = 9, [COPY_HOST_DEVICE] = 1, [COPY_DEVICE_HOST] = 2};
    if (field_u64(record, TRACED_SIZE) < COPIED_SIZE)
        return;
    uint64_t to = field_u64(record, COPIED_TO), from = field_u64(record, COPIED_FROM);
    uint32_t operation = field_u32(record, TRACED_OPERATION), between = to == from ? 8 : 10;
    int gpu = gpu_of(to);
    struct device_work work = {.bytes = field_u64(record, COPIED_BYTES),
                               .what = operation < COPY_DEVICE_DEVICE ? kinds_of_cupti[operation] : between,
                               .stream = STREAM_OF_COPIES,
                               .kind = SUM_COPY};
    add_work(record, &work, gpu >= 0 ? gpu : gpu_of(from));
}

static void add_wait(const void *record)
{
    struct device_work wait;
    uint64_t size = field_u64(record, TRACED_SIZE);
    size_t which = 0;
    while (which < wait_count && wait_operations[which] != (int32_t)field_u32(record, TRACED_OPERATION))
        which++;
    if (which < wait_count && (size == CALL_SIZE || size == CALL_SIZE_OLD) &&
        clock_times(&wait, field_u64(record, size - CALL_START_BEFORE_END),
                    field_u64(record, size - CALL_END_BEFORE_END)))
        launches_add_wait(wait_types[which], OTHER_STREAMS, wait.start_ns, wait.end_ns);
}

static void add(const void *header)
{
    const void *record = field_pointer(header, HEADER_RECORD);
    if (record == NULL || field_u32(header, HEADER_CATEGORY) != CATEGORY_TRACING)
        return;
    uint32_t kind = field_u32(header, HEADER_KIND);
    if (kind == TRACING_KERNEL)
        add_kernel(record);
    else if (kind == TRACING_COPY)
        add_copy(record);
    else if (kind == TRACING_HIP_CALL)
        add_wait(record);
}

void records_callback(struct rocprofiler_id context, struct rocprofiler_id buffer, const void **headers, size_t count,
                      void *data, uint64_t dropped)
{
    clock_measure(rocprofiler->timestamp);
    for (size_t i = 0; i < count && gpu_is_recording();) {
        uint64_t mask = gpu_lock();
        for (size_t until = i + BATCH; i < until && i < count; i++)
            add(headers[i]);
        gpu_unlock(mask);
    }
    trace_report();
    gpu_count(&gpu_totals.dropped, dropped - dropped_before);
    dropped_before = dropped;
}

/* A kernel or copy is about to be enqueued, by the calling thread. */
static int request(uint64_t thread, struct rocprofiler_id context, int kind, int32_t operation, uint64_t own_id,
                   uint64_t *id, void *data)
{
    if (!gpu_is_recording())
        return 1;
    *id = launches_count(kind == TRACING_KERNEL);
    return 0;
}

/* Learn the number of one of HIP's functions, if it waits. */
static int learn_wait(int kind, int32_t operation, void *data)
{
    const char *name = NULL;
    if (rocprofiler->operation_name(kind, operation, &name, NULL) != ROCPROFILER_OK || name == NULL)
        return 0;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting && wait_count < MOST_WAITS; i++) {
        if (strcmp(waiting[i].name, name) != 0)
            continue;
        wait_operations[wait_count] = operation;
        wait_types[wait_count++] = waiting[i].type;
    }
    return 0;
}

bool records_start(const struct rocprofiler *functions, struct rocprofiler_id context, struct rocprofiler_id buffer)
{
    static const int kinds[] = {TRACING_COPY, TRACING_KERNEL};
    rocprofiler = functions;
    clock_measure(rocprofiler->timestamp);
    rocprofiler->agents(AGENT_VERSION, learn_gpus, AGENT_BYTES, NULL);
    rocprofiler->operations(TRACING_HIP_CALL, learn_wait, NULL);
    if (wait_count > 0)
        rocprofiler->trace_to_buffer(context, TRACING_HIP_CALL, wait_operations, wait_count, buffer);
    return rocprofiler->request_ids(context, kinds, sizeof kinds / sizeof *kinds, request, NULL) == ROCPROFILER_OK &&
           rocprofiler->trace_to_buffer(context, TRACING_COPY, NULL, 0, buffer) == ROCPROFILER_OK &&
           rocprofiler->trace_to_buffer(context, TRACING_KERNEL, NULL, 0, buffer) == ROCPROFILER_OK;
}
