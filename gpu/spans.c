/* The union of spans, which come late and out of order: of each lane a sorted array of spans that do not touch. What is
 * older than a few seconds is written and forgotten. Thread safety: under gpu_lock. Memory from mmap. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define MOST_SPANS (1u << 17) /* of a lane; beyond that, the older half is closed */

struct span {
    uint64_t start_ns, end_ns;
};

struct lane {
    struct span *spans;
    uint32_t count;
    uint64_t closed_ns; /* all before it is written, or counted in `busy` */
};

static struct lane lanes[LANES];

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

static void busy(unsigned lane, uint64_t start_ns, uint64_t end_ns)
{
    for (uint64_t at = start_ns; at < end_ns;) {
        uint64_t next = (at / SLOT_NS + 1) * SLOT_NS;
        uint64_t until = next < end_ns ? next : end_ns;
        sums_add(&(struct sum_key){.slot = at / SLOT_NS, .device = (uint16_t)lane, .kind = SUM_BUSY}, 1, until - at, 0);
        at = until;
    }
}

static void close_first(unsigned number, uint32_t count)
{
    struct lane *lane = &lanes[number];
    for (uint32_t i = 0; i < count; i++)
        busy(number, lane->spans[i].start_ns, lane->spans[i].end_ns);
    if (count > 0)
        lane->closed_ns = lane->spans[count - 1].end_ns;
    lane->count -= count;
    memmove(lane->spans, lane->spans + count, lane->count * sizeof *lane->spans);
}

void spans_add(unsigned number, uint64_t start_ns, uint64_t end_ns)
{
    struct lane *lane = &lanes[number < LANES ? number : MOST_DEVICES - 1];
    if (start_ns < lane->closed_ns) {
        uint64_t late_end = end_ns < lane->closed_ns ? end_ns : lane->closed_ns;
        gpu_count(&gpu_totals.late_ns, late_end - start_ns);
        start_ns = lane->closed_ns;
    }
    if (start_ns >= end_ns)
        return;
    if (lane->spans == NULL)
        lane->spans = sys_alloc_untouched(MOST_SPANS * sizeof *lane->spans);
    if (lane->spans == NULL)
        return;
    if (lane->count == MOST_SPANS)
        close_first((unsigned)(lane - lanes), MOST_SPANS / 2);
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

void spans_close(uint64_t until_ns)
{
    for (unsigned number = 0; number < LANES; number++) {
        struct lane *lane = &lanes[number];
        uint32_t count = 0;
        while (count < lane->count && lane->spans[count].end_ns < until_ns)
            count++;
        /* A span that reaches beyond it is cut there. */
        if (count < lane->count && lane->spans[count].start_ns < until_ns) {
            uint64_t start_ns = lane->spans[count].start_ns;
            close_first(number, count);
            busy(number, start_ns, until_ns);
            lane->spans[0].start_ns = until_ns;
        } else {
            close_first(number, count);
        }
        if (lane->spans != NULL && lane->closed_ns < until_ns)
            lane->closed_ns = until_ns;
    }
}
