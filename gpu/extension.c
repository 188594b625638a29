/* What the collector calls: it begins, gives back launches with their paths, and takes the image of an interval.
 *
 * Thread safety: the buffers and sums are used under the lock (state.c). The functions that the collector calls use
 * nothing of libc's. */
#define _GNU_SOURCE
#include "extension.h"

#include "gpu.h"
#include "libc.h"
#include "sys.h"

#define KIND_DEVICE 13
#define RECORD_STATE 1
#define RECORD_INTERFACE 16
#define ATTEMPTS 2000
#define LAST_ATTEMPTS 200000

static int number = -1;
static uint32_t state;
static struct buffer image;

void extension_refuse(enum gpu_state why)
{
    __atomic_store_n(&state, (uint32_t)why, __ATOMIC_RELAXED);
}

/* Neither CUDA nor OpenCL works in a forked child. Its one thread does not hold the lock, which another may have held.
 */
static void stop_in_child(void)
{
    gpu_leave();
    gpu_set_recording(false);
}

static void begin(bool forked, bool wanted)
{
    if (forked)
        stop_in_child();
    else
        gpu_set_recording(wanted);
}

static void take(const struct extension_event *event)
{
    if (!gpu_try_lock(ATTEMPTS)) {
        gpu_count(&gpu_totals.lost, 1);
        return;
    }
    launches_take((uint32_t)event->words[0], event->node);
    gpu_leave();
}

static void put_state(uint64_t run_start_ns)
{
    const uint64_t *totals = (const void *)&gpu_totals;
    uint64_t left_out;
    struct buffer record = {0};
    buffer_varint(&record, __atomic_load_n(&state, __ATOMIC_RELAXED));
    buffer_varint(&record, gpu_version);
    buffer_varint(&record, SLOT_NS);
    buffer_varint(&record, launches_per_path());
    for (size_t i = 0; i < sizeof gpu_totals / sizeof *totals; i++)
        buffer_varint(&record, __atomic_load_n(&totals[i], __ATOMIC_RELAXED));
    buffer_varint(&record, run_start_ns % SLOT_NS);
    if (trace_left_out(&left_out))
        buffer_varint(&record, left_out);
    buffer_record(&image, RECORD_STATE, &record);
    buffer_free(&record);
}

static const uint8_t *put(const struct extension_interval *interval, size_t *length)
{
    static bool has_image; /* from the first work on, or if none can be recorded */
    if (!gpu_is_recording() || !gpu_try_lock(interval->is_last ? LAST_ATTEMPTS : ATTEMPTS))
        return NULL;
    launches_resolve(interval->is_last);
    spans_put();
    has_image = has_image || __atomic_load_n(&state, __ATOMIC_RELAXED) != GPU_RECORDED || sums_any() ||
                __atomic_load_n(&gpu_totals.launches, __ATOMIC_RELAXED) > 0 ||
                __atomic_load_n(&gpu_totals.graph_launches, __ATOMIC_RELAXED) > 0;
    if (!has_image) {
        gpu_leave();
        return NULL;
    }
    image.length = 0;
    image.failed = false;
    /* First, because numbers of names and devices are the interface's. */
    buffer_varint(&image, RECORD_INTERFACE);
    buffer_varint(&image, 1);
    buffer_varint(&image, gpu_interface);
    put_state(interval->run_start_ns);
    names_put(&image);
    sums_put(&image, interval->run_start_ns);
    trace_put(&image, interval->run_start_ns);
    gpu_leave();
    *length = image.length;
    return image.failed ? NULL : image.data;
}

static const struct extension extension = {
    .version = EXTENSION_VERSION, .kind = KIND_DEVICE, .begin = begin, .take = take, .put = put};

int extension_start(void)
{
    /* For a child that the collector does not follow; where libc cannot, only the others are stopped. */
    libc_at_fork(NULL, NULL, stop_in_child);
    if (incprof_extension_add != NULL && incprof_extension_event != NULL)
        number = incprof_extension_add(&extension);
    return number;
}
