/* Counters of a processor that is not there: pages as the kernel writes them, and what rdpmc would read. */
#include <stdint.h>
static uint64_t processor[4];
#define READ_COUNTER(index) processor[index]
#include "counters.c"

#include <assert.h>
#include <stdio.h>

const char *environment_text(const char *name)
{
    (void)name;
    return "instructions,cache-misses";
}

void environment_complain(const char *name, const char *value, const char *fallback)
{
    (void)name, (void)value, (void)fallback;
    assert(0);
}

const char *reason_name(long error)
{
    (void)error;
    return "";
}

static struct perf_event_mmap_page pages[MOST_COUNTERS];
static struct counters counters = {.is_counting = true, .pages = {&pages[0], &pages[1]}, .fd = -1};

static void scheduled(uint32_t first, uint32_t second)
{
    pages[0].index = first;
    pages[1].index = second;
}

int main(void)
{
    counters_configure();
    assert(requested_count == 2 && !parse("instructions,") && !parse("") && !parse("a") && !parse("cycles,cycles,cycles"));
    assert(parse("page-faults") && requested_count == 1 && parse("instructions,cache-misses"));
    count = 2;
    for (int i = 0; i < 2; i++) {
        pages[i].cap_user_rdpmc = 1;
        pages[i].pmc_width = 48;
        pages[i].time_enabled = pages[i].time_running = 1000;
    }
    assert(!pages_are_read(&counters));
    scheduled(1, 4);
    assert(pages_are_read(&counters));
    /* The counter of the processor goes on from what the kernel has added up; it is signed, and 48 bits wide. */
    pages[0].offset = 5000;
    pages[1].offset = ((int64_t)1 << 47) + 7;
    processor[0] = 34;
    processor[3] = ((uint64_t)1 << 48) - ((uint64_t)1 << 47); /* the least number */
    struct reading reading = counters_read(&counters);
    assert(reading.is_valid && reading.value[0] == 5034 && reading.value[1] == 7 && reading.idle_ns == 0);
    processor[0] = ((uint64_t)1 << 48) - 4; /* -4, and what is above the counter's bits is nothing */
    processor[0] |= (uint64_t)0xabc << 48;
    assert(counters_read(&counters).value[0] == 4996);
    /* Lent to others: what was counted so far is known, how long for is not. */
    scheduled(0, 0);
    pages[0].time_running = pages[1].time_running = 600;
    reading = counters_read(&counters);
    assert(!reading.is_valid && reading.value[0] == 5000);
    scheduled(2, 3);
    processor[1] = 1;
    reading = counters_read(&counters);
    assert(reading.is_valid && reading.value[0] == 5001 && reading.idle_ns == 400);
    /* No programs may read them any more. */
    counters.is_counting = false;
    assert(!counters_read(&counters).is_valid);
    puts("done");
    return 0;
}
