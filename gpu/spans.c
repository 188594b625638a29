/* The union of spans, which come late and out of order: of each lane a sorted array of spans that do not touch. What is
 * older than a few seconds is written and forgotten. Thread safety: under gpu_lock. Memory from mmap. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define MOST_SPANS (1u << 17) /* of a lane; beyond that, the older half is closed */
#define MOST_OF_STREAM (1u << 14)

struct span {
    uint64_t start_ns, end_ns;
};

struct lane {
    struct span *spans;
    uint32_t count, most;
    struct sum_key key; /* of its sums, but for the slot */
    uint64_t closed_ns; /* all before it is written, or counted in `busy` */
};

static struct lane lanes[LANES], streams[MOST_STREAMS], overlaps[OVERLAPS];
static uint32_t stream_count;

/* Return the index of the first span that ends at `ns` or later. */
static uint32_t first_from(const struct lane *lane, uint64_t ns)
{
    uint32_t low = 0, high = lane->count;
    /* Most spans are among the last. */
    if (high > 8 && lane->spans[high - 8].end_ns < ns)
        low = high - 8;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lane->spans[middle].end_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Add spans to the sums. Those of one slot are added together. */
static void busy(const struct lane *lane, const struct span *spans, uint32_t span_count)
{
    struct sum_key key = lane->key;
    uint64_t count = 0, ns = 0, slot_end_ns = 0;
    for (uint32_t i = 0; i < span_count; i++) {
        for (uint64_t at = spans[i].start_ns; at < spans[i].end_ns;) {
            if (at >= slot_end_ns) {
                if (count > 0)
                    sums_add(&key, count, ns, 0);
                key.slot = at / SLOT_NS;
                slot_end_ns = (key.slot + 1) * SLOT_NS;
                count = ns = 0;
            }
            uint64_t until = slot_end_ns < spans[i].end_ns ? slot_end_ns : spans[i].end_ns;
            count++;
            ns += until - at;
            at = until;
        }
    }
    if (count > 0)
        sums_add(&key, count, ns, 0);
}

static void close_first(struct lane *lane, uint32_t count)
{
    busy(lane, lane->spans, count);
    if (count > 0)
        lane->closed_ns = lane->spans[count - 1].end_ns;
    lane->count -= count;
    memmove(lane->spans, lane->spans + count, lane->count * sizeof *lane->spans);
}

/* Add a span that begins after the start of the newest one, as most do; false: it does not. */
static bool add_newest(struct lane *lane, uint64_t start_ns, uint64_t end_ns)
{
    struct span *newest = lane->spans + lane->count - 1;
    if (lane->count == 0 || start_ns < newest->start_ns)
        return false;
    if (start_ns > newest->end_ns)
        lane->spans[lane->count++] = (struct span){start_ns, end_ns};
    else if (end_ns > newest->end_ns)
        newest->end_ns = end_ns;
    return true;
}

static void add(struct lane *lane, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns < lane->closed_ns) {
        uint64_t late_end = end_ns < lane->closed_ns ? end_ns : lane->closed_ns;
        if (lane->key.kind == SUM_BUSY)
            gpu_count(&gpu_totals.late_ns, late_end - start_ns);
        start_ns = lane->closed_ns;
    }
    if (start_ns >= end_ns)
        return;
    if (lane->spans == NULL)
        lane->spans = sys_alloc_untouched(lane->most * sizeof *lane->spans);
    if (lane->spans == NULL)
        return;
    if (lane->count == lane->most)
        close_first(lane, lane->most / 2);
    if (add_newest(lane, start_ns, end_ns))
        return;
    uint32_t first = first_from(lane, start_ns), last = first;
    for (; last < lane->count && lane->spans[last].start_ns <= end_ns; last++) {
        if (lane->spans[last].start_ns < start_ns)
            start_ns = lane->spans[last].start_ns;
        if (lane->spans[last].end_ns > end_ns)
            end_ns = lane->spans[last].end_ns;
    }
    memmove(lane->spans + first + 1, lane->spans + last, (lane->count - last) * sizeof *lane->spans);
    lane->spans[first] = (struct span){start_ns, end_ns};
    lane->count = lane->count - (last - first) + 1;
}

static void add_to(struct lane *lane, enum sum_kind kind, unsigned device, uint32_t what, uint64_t start_ns,
                   uint64_t end_ns)
{
    if (lane->most == 0) {
        lane->most = MOST_SPANS;
        lane->key = (struct sum_key){.what = what, .device = (uint16_t)device, .kind = (uint16_t)kind};
    }
    add(lane, start_ns, end_ns);
}

/* Return the lane of a stream; all beyond the limit share the last one, with the device of the first of them. */
static struct lane *stream_of(unsigned device, uint32_t stream)
{
    static uint32_t last;
    if (last < stream_count && streams[last].key.what == stream && streams[last].key.device == device)
        return &streams[last];
    for (last = 0; last < stream_count && last < MOST_STREAMS - 1; last++)
        if (streams[last].key.what == stream && streams[last].key.device == device)
            return &streams[last];
    if (last == stream_count) {
        bool is_rest = last == MOST_STREAMS - 1;
        streams[stream_count++] = (struct lane){
            .most = MOST_OF_STREAM,
            .key = {.what = is_rest ? OTHER_STREAMS : stream, .device = (uint16_t)device, .kind = SUM_STREAM}};
    }
    return &streams[last];
}

static void add_overlap(enum overlap what, uint64_t start_ns, uint64_t end_ns)
{
    add_to(&overlaps[what], SUM_OVERLAP, HOST_WAITS, what, start_ns, end_ns);
}

void spans_add_work(unsigned device, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
    device = device_lane(device);
    add_to(&lanes[device], SUM_BUSY, device, 0, start_ns, end_ns);
    add(stream_of(device, stream), start_ns, end_ns);
    add_overlap(ANY_DEVICE, start_ns, end_ns);
    add_overlap(DEVICE_OR_WAIT, start_ns, end_ns);
}

void spans_add_wait(uint64_t start_ns, uint64_t end_ns)
{
    add_to(&lanes[HOST_WAITS], SUM_BUSY, HOST_WAITS, 0, start_ns, end_ns);
    add_overlap(DEVICE_OR_WAIT, start_ns, end_ns);
}

static void close_lane(struct lane *lane, uint64_t until_ns)
{
    uint32_t count = 0;
    while (count < lane->count && lane->spans[count].end_ns < until_ns)
        count++;
    /* A span that reaches beyond it is cut there. */
    if (count < lane->count && lane->spans[count].start_ns < until_ns) {
        uint64_t start_ns = lane->spans[count].start_ns;
        close_first(lane, count);
        busy(lane, &(struct span){start_ns, until_ns}, 1);
        lane->spans[0].start_ns = until_ns;
    } else {
        close_first(lane, count);
    }
    if (lane->spans != NULL && lane->closed_ns < until_ns)
        lane->closed_ns = until_ns;
}

void spans_close(uint64_t until_ns)
{
    for (unsigned number = 0; number < LANES; number++)
        close_lane(&lanes[number], until_ns);
    for (unsigned number = 0; number < OVERLAPS; number++)
        close_lane(&overlaps[number], until_ns);
    for (uint32_t number = 0; number < stream_count; number++)
        close_lane(&streams[number], until_ns);
}
