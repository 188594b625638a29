/* The union of spans by itself: drawn spans, in any order, against a map of each nanosecond. */
#include "spans.c"

#include <assert.h>
#include <stdlib.h>

#define FIRST_NS (3 * SLOT_NS - 700) /* a slot ends within the map */
#define MAP_NS 2000u

struct gpu_totals gpu_totals;
static uint64_t sums[SUM_KINDS][5];

void sums_add(const struct sum_key *key, uint64_t count, uint64_t ns, uint64_t bytes)
{
    assert(count > 0 && bytes == 0 && key->slot < 5);
    sums[key->kind][key->slot] += ns;
}

static void forget_all(void)
{
    for (uint32_t number = 0; number < used; number++) {
        if (lanes[number].spans != NULL)
            sys_free(lanes[number].spans, MOST_SPANS * sizeof(struct span));
        lanes[number] = (struct lane){0};
    }
    memset(sums, 0, sizeof sums);
}

static void drawn_spans_count_once(unsigned seed)
{
    static uint8_t map[MAP_NS];
    uint64_t truth[5] = {0};
    srand(seed);
    memset(map, 0, sizeof map);
    for (int i = 0, n = rand() % 300; i < n; i++) {
        uint64_t start = (uint64_t)rand() % MAP_NS, length = (uint64_t)rand() % 40;
        uint64_t end = start + length < MAP_NS ? start + length : MAP_NS;
        memset(map + start, 1, end - start);
        spans_add_work(2, 7, FIRST_NS + start, FIRST_NS + end);
        if (rand() % 20 == 0)
            spans_put();
    }
    spans_put();
    for (uint64_t ns = 0; ns < MAP_NS; ns++)
        truth[(FIRST_NS + ns) / SLOT_NS] += map[ns];
    for (int slot = 0; slot < 5; slot++) {
        assert(sums[SUM_BUSY][slot] == truth[slot] && sums[SUM_STREAM][slot] == truth[slot]);
        assert(sums[SUM_OVERLAP][slot] == 2 * truth[slot]);
    }
    assert(gpu_totals.late_ns == 0);
    forget_all();
}

static void what_is_older_than_all_that_is_known_is_late(void)
{
    for (uint64_t i = 0; i < MOST_SPANS + 5; i++)
        spans_add_wait(1000 + 10 * i, 1003 + 10 * i);
    spans_add_wait(10, 14); /* before all */
    spans_add_wait(1000 + 10 * (MOST_SPANS / 2 - 3), 1005 + 10 * MOST_SPANS);
    spans_put();
    /* All of the first, and what the second has in common with the last that was forgotten and the gap before it. */
    assert(gpu_totals.late_ns == 4 + 23);
    /* The second fills the gaps that follow. */
    assert(sums[SUM_BUSY][0] == 3 * (MOST_SPANS + 5) + 7 * (MOST_SPANS / 2 + 1) + 2);
}

int main(void)
{
    for (unsigned seed = 0; seed < 3000; seed++)
        drawn_spans_count_once(seed);
    what_is_older_than_all_that_is_known_is_late();
    return 0;
}
