/* Launches: how many there are, and the call paths of all of them, or of fewer where paths cost too much.
 *
 * CUPTI numbers launches one after the other, and a kernel's record has the number (`correlation`) of its launch. So
 * the tables are indexed by its low bits.
 *
 * Thread safety: `sampled` and `per_path` are atomic: threads that launch write them. `nodes` and `pending` are under
 * gpu_lock. The callback runs on the launching thread, where libc works; it takes no lock and keeps errno. */
#define _GNU_SOURCE
#include "extension.h"
#include "gpu.h"
#include "sys.h"

#define RECENT (1u << 17) /* launches whose records may be outstanding */
#define MOST_PENDING (1u << 15)

#define MOST_PER_PATH 4096u

struct pending {
    struct device_work work;
    bool has_waited;
};

static int number = -1;
static uint32_t sampled[RECENT];
static struct {
    uint32_t correlation, node;
} nodes[RECENT];
static struct pending pending[MOST_PENDING];
static uint32_t pending_count;
static uint32_t per_path = 1;
static __thread uint32_t turn;

void launches_start(int extension)
{
    number = extension;
}

uint32_t launches_per_path(void)
{
    return __atomic_load_n(&per_path, __ATOMIC_RELAXED);
}

/* Record as many paths as the budget of the recording permits: one in a power of two. */
static void adjust(void)
{
    uint32_t thinning = extension_thinning(number) / EXTENSION_ALL_EVENTS, one_in = 1;
    while (one_in < MOST_PER_PATH && one_in < thinning)
        one_in *= 2;
    __atomic_store_n(&per_path, one_in, __ATOMIC_RELAXED);
}

/* Whether this launch's path is recorded. Drawn, because programs launch their kernels in cycles. */
static bool is_drawn(void)
{
    uint32_t one_in = launches_per_path();
    uint32_t drawn = ++turn * 0x9e3779b1u;
    drawn = (drawn ^ drawn >> 15) * 0x85ebca6bu;
    return ((drawn ^ drawn >> 13) & (one_in - 1)) == 0;
}

static __attribute__((noinline)) void record_path(uint32_t correlation)
{
    const uint64_t words[EXTENSION_WORDS] = {correlation};
    __atomic_store_n(&sampled[correlation % RECENT], correlation, __ATOMIC_RELAXED);
    if (incprof_extension_event(number, words, true) != EXTENSION_TAKEN)
        __atomic_store_n(&sampled[correlation % RECENT], 0, __ATOMIC_RELAXED);
    adjust();
}

void launches_record(uint32_t correlation)
{
    if (is_drawn())
        record_path(correlation);
}

uint32_t launches_count(bool is_kernel)
{
    static uint32_t last;
    uint32_t correlation = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    correlation += correlation == 0;
    gpu_count(&gpu_totals.launches, is_kernel);
    launches_record(correlation);
    return correlation;
}

void launches_take(uint32_t correlation, uint32_t node)
{
    nodes[correlation % RECENT].correlation = correlation;
    nodes[correlation % RECENT].node = node;
}

static bool find_node(uint32_t correlation, uint32_t *node)
{
    *node = nodes[correlation % RECENT].node;
    return correlation != 0 && nodes[correlation % RECENT].correlation == correlation;
}

static void add(const struct device_work *work, uint32_t node)
{
    const struct sum_key key = {
        .slot = work->start_ns / SLOT_NS, .what = work->what, .node = node, .device = work->device, .kind = work->kind};
    sums_add(&key, 1, work->end_ns - work->start_ns, work->bytes);
    trace_add(work, node);
}

void launches_add_wait(uint32_t type, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
    const struct device_work wait = {
        .start_ns = start_ns, .end_ns = end_ns, .what = type, .stream = stream, .device = HOST_WAITS, .kind = SUM_SYNC};
    add(&wait, NODE_UNSAMPLED);
    spans_add_wait(start_ns, end_ns);
}

void launches_add_between(struct device_work *work, uint64_t start_ns, uint64_t end_ns)
{
    if (clock_times(work, start_ns, end_ns))
        launches_add(work);
    else
        gpu_count(&gpu_totals.incomplete, work->kind == SUM_KERNEL);
}

void launches_add(const struct device_work *work)
{
    uint32_t node = NODE_UNSAMPLED, correlation = work->correlation;
    spans_add_work(work->device, work->stream, work->start_ns, work->end_ns);
    if (!find_node(correlation, &node)) {
        bool is_expected =
            correlation != 0 && __atomic_load_n(&sampled[correlation % RECENT], __ATOMIC_RELAXED) == correlation;
        if (is_expected && pending_count < MOST_PENDING) {
            pending[pending_count++] = (struct pending){.work = *work};
            return;
        }
        node = NODE_UNSAMPLED;
    }
    add(work, node);
}

void launches_resolve(bool is_last)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < pending_count; i++) {
        struct pending *one = &pending[i];
        uint32_t node = NODE_UNSAMPLED;
        bool is_found = find_node(one->work.correlation, &node);
        if (!is_found && !one->has_waited && !is_last) {
            one->has_waited = true;
            pending[left++] = *one;
            continue;
        }
        add(&one->work, is_found ? node : NODE_UNSAMPLED);
    }
    pending_count = left;
}
