/* Thread safety: under gpu_lock. */
#include "gpu.h"

void work_add(const struct device_work *work, uint32_t node)
{
    const struct sum_key key = {
        .slot = work->start_ns / SLOT_NS, .what = work->what, .node = node, .device = work->device, .kind = work->kind};
    sums_add(&key, 1, work->end_ns - work->start_ns, work->bytes);
    trace_add(work, node);
}

void work_add_wait(uint32_t type, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
    const struct device_work wait = {
        .start_ns = start_ns, .end_ns = end_ns, .what = type, .stream = stream, .device = HOST_WAITS, .kind = SUM_SYNC};
    work_add(&wait, NODE_UNSAMPLED);
    spans_add_wait(start_ns, end_ns);
}
