/* Rings as the kernel would fill them: how often outside/perf_rings.c looks at them, and writes to them. A ring that has
 * nothing to give lies in memory that cannot be written. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "perf_rings.h"

#define RINGS 64
#define PAGE 4096u

struct record {
    struct perf_event_header header;
    struct record_end end;
};

static struct ring rings[RINGS];

static void add(struct ring *ring, uint64_t time_ns)
{
    struct record record = {{PERF_RECORD_EXIT, 0, sizeof record}, {0, 0, time_ns}};
    uint64_t at = ring->page->data_head % ring->bytes, first = ring->bytes - at;
    uint8_t *data = (uint8_t *)ring->page + PAGE;
    memcpy(data + at, &record, first < sizeof record ? first : sizeof record);
    if (first < sizeof record)
        memcpy(data, (uint8_t *)&record + first, sizeof record - first);
    ring->page->data_head += sizeof record;
}

static void make(struct ring *ring)
{
    void *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *ring =
        (struct ring){.page = at, .data = (uint8_t *)at + PAGE, .bytes = PAGE, .straight = malloc(MOST_RECORD_BYTES)};
    /* The first record goes round the end. */
    ring->page->data_head = ring->page->data_tail = ring->at = PAGE - 8;
}

int main(void)
{
    struct events events = {.rings = rings, .ring_count = RINGS};
    uint64_t time_ns;
    for (int i = 0; i < RINGS; i++)
        make(&rings[i]);
    for (uint64_t i = 0; i < 10; i++)
        add(&rings[i % 2], 101 + 2 * i);
    for (int i = 2; i < RINGS; i++)
        mprotect(rings[i].page, PAGE, PROT_READ);
    for (int taken = 0; events_next(&events, 115, &time_ns) != NULL; taken++) {
        printf("%llu ", (unsigned long long)time_ns);
        if (taken == 0)
            add(&rings[1], 103); /* not seen before all else is taken */
    }
    /* What was handed out is given back, what was not is kept. */
    printf("| %llu | ", (unsigned long long)(rings[0].page->data_tail - (PAGE - 8)) / sizeof(struct record));
    while (events_next(&events, UINT64_MAX, &time_ns) != NULL)
        printf("%llu ", (unsigned long long)time_ns);
    puts("");
    return 0;
}
