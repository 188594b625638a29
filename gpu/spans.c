/* The union of spans, which come late and out of order: a span adds to the sums what none before it has covered. Each
 * lane keeps its spans that do not touch, sorted, and forgets the older half when there are too many.
 *
 * Thread safety: under gpu_lock. Memory from mmap. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define MOST_SPANS (1u << 15) /* of a lane */
#define FIRST_STREAM (LANES + OVERLAPS)

struct span {
    uint64_t start_ns, end_ns;
};

struct lane {
    struct span *spans;
    uint32_t count;
    struct sum_key key; /* of the time that is not in the sums yet */
    uint64_t pieces, ns;
    uint64_t forgotten_ns; /* spans that ended before it are forgotten */
};

static struct lane lanes[FIRST_STREAM + MOST_STREAMS]; /* of devices and waits, overlaps, and streams */
static uint32_t used = FIRST_STREAM;

static void put(struct lane *lane)
{
    if (lane->pieces > 0)
        sums_add(&lane->key, lane->pieces, lane->ns, 0);
    lane->pieces = lane->ns = 0;
}

/* Add time that no other span covers, if there is any. That of one slot is added together. */
static void cover(struct lane *lane, uint64_t start_ns, uint64_t end_ns)
{
    while (start_ns < end_ns) {
        if (start_ns - lane->key.slot * SLOT_NS >= SLOT_NS) {
            put(lane);
            lane->key.slot = start_ns / SLOT_NS;
        }
        uint64_t until_ns = (lane->key.slot + 1) * SLOT_NS;
        until_ns = until_ns < end_ns ? until_ns : end_ns;
        lane->pieces++;
        lane->ns += until_ns - start_ns;
        start_ns = until_ns;
    }
}

/* Add a span that begins after the newest one and lies in the slot of the sum, as most do; false: it does not. */
static inline bool append(struct lane *lane, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t slot_ns = lane->key.slot * SLOT_NS;
    if (lane->count == 0 || lane->count == MOST_SPANS || start_ns <= lane->spans[lane->count - 1].end_ns ||
        start_ns < slot_ns || end_ns > slot_ns + SLOT_NS)
        return false;
    lane->spans[lane->count++] = (struct span){start_ns, end_ns};
    lane->pieces++;
    lane->ns += end_ns - start_ns;
    return true;
}

/* Add a span. Most that are not appended end among the last. */
static __attribute__((noinline)) void insert(struct lane *lane, enum sum_kind kind, unsigned device, uint32_t what,
                                             uint64_t start_ns, uint64_t end_ns)
{
    if (lane->spans == NULL) {
        lane->key = (struct sum_key){.what = what, .device = (uint16_t)device, .kind = (uint16_t)kind};
        lane->spans = sys_alloc_untouched(MOST_SPANS * sizeof *lane->spans);
    }
    if (lane->count == MOST_SPANS) {
        lane->count -= MOST_SPANS / 2;
        lane->forgotten_ns = lane->spans[MOST_SPANS / 2 - 1].end_ns;
        memmove(lane->spans, lane->spans + MOST_SPANS / 2, lane->count * sizeof *lane->spans);
    }
    if (start_ns < lane->forgotten_ns) {
        uint64_t late_end = end_ns < lane->forgotten_ns ? end_ns : lane->forgotten_ns;
        if (lane->key.kind == SUM_BUSY)
            gpu_count(&gpu_totals.late_ns, late_end - start_ns);
        start_ns = late_end;
    }
    if (start_ns >= end_ns || lane->spans == NULL)
        return;
    uint32_t last = lane->count;
    while (last > 0 && lane->spans[last - 1].start_ns > end_ns)
        last--;
    uint32_t first = last;
    struct span whole = {start_ns, end_ns};
    for (; first > 0 && lane->spans[first - 1].end_ns >= start_ns; first--) {
        const struct span *known = &lane->spans[first - 1];
        cover(lane, known->end_ns, end_ns);
        end_ns = known->start_ns;
        whole.start_ns = whole.start_ns < known->start_ns ? whole.start_ns : known->start_ns;
        whole.end_ns = whole.end_ns > known->end_ns ? whole.end_ns : known->end_ns;
    }
    cover(lane, start_ns, end_ns);
    memmove(lane->spans + first + 1, lane->spans + last, (lane->count - last) * sizeof *lane->spans);
    lane->spans[first] = whole;
    lane->count = lane->count - (last - first) + 1;
}

static void add(struct lane *lane, enum sum_kind kind, unsigned device, uint32_t what, uint64_t start_ns,
                uint64_t end_ns)
{
    if (!append(lane, start_ns, end_ns))
        insert(lane, kind, device, what, start_ns, end_ns);
}

static bool is_stream(uint32_t number, unsigned device, uint32_t stream)
{
    return number < used && lanes[number].key.what == stream && lanes[number].key.device == device;
}

/* Add to the lane of a stream; all beyond the limit share the last one, with the device of the first of them. */
static void add_to_stream(unsigned device, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
    static uint32_t last = FIRST_STREAM;
    const uint32_t rest = FIRST_STREAM + MOST_STREAMS - 1;
    if (!is_stream(last, device, stream))
        for (last = FIRST_STREAM; last < rest && last < used && !is_stream(last, device, stream);)
            last++;
    used = last < used ? used : last + 1;
    add(&lanes[last], SUM_STREAM, device, last == rest ? OTHER_STREAMS : stream, start_ns, end_ns);
}

static void add_overlap(enum overlap what, uint64_t start_ns, uint64_t end_ns)
{
    add(&lanes[LANES + what], SUM_OVERLAP, HOST_WAITS, what, start_ns, end_ns);
}

void spans_add_work(unsigned device, uint32_t stream, uint64_t start_ns, uint64_t end_ns)
{
    device = device_lane(device);
    add(&lanes[device], SUM_BUSY, device, 0, start_ns, end_ns);
    add_to_stream(device, stream, start_ns, end_ns);
    add_overlap(ANY_DEVICE, start_ns, end_ns);
    add_overlap(DEVICE_OR_WAIT, start_ns, end_ns);
}

void spans_add_wait(uint64_t start_ns, uint64_t end_ns)
{
    add(&lanes[HOST_WAITS], SUM_BUSY, HOST_WAITS, 0, start_ns, end_ns);
    add_overlap(DEVICE_OR_WAIT, start_ns, end_ns);
}

void spans_put(void)
{
    for (uint32_t number = 0; number < used; number++)
        put(&lanes[number]);
}
