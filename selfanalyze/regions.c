/* Thread safety: the watched thread (calls.c) changes regions between two increments of `version`, and never waits. The
 * writing thread copies them, and copies again if `version` has changed: a sequence lock. */
#define _GNU_SOURCE
#include "regions.h"

#include <string.h>

#include "sys.h"

#define MOST_ATTEMPTS 200

static struct region regions[MOST_REGIONS];
static struct region copied[MOST_REGIONS];
static size_t region_count;
static uint64_t lost;
static uint32_t version; /* odd during a change */

void regions_begin_change(void)
{
    __atomic_store_n(&version, version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

void regions_end_change(void)
{
    __atomic_store_n(&version, version + 1, __ATOMIC_RELEASE);
}

struct region *regions_find(uint64_t hash, uint32_t length, bool is_explicit)
{
    for (size_t i = 0; i < region_count; i++)
        if (regions[i].hash == hash && regions[i].length == length && regions[i].is_explicit == is_explicit)
            return &regions[i];
    if (region_count == MOST_REGIONS) {
        lost++;
        return NULL;
    }
    struct region *region = &regions[region_count++];
    region->hash = hash;
    region->length = length;
    region->is_explicit = is_explicit;
    return region;
}

size_t regions_index(const struct region *region)
{
    return (size_t)(region - regions);
}

struct region *regions_at(size_t index)
{
    return &regions[index];
}

uint64_t regions_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

void regions_note_threads(struct region *region, int threads)
{
    if (region == NULL)
        return;
    if (threads > region->threads)
        region->threads = threads;
    if (region->fewest_threads == 0 || threads < region->fewest_threads)
        region->fewest_threads = threads;
}

void regions_add_call(struct region *region, uint64_t start_ns, uint64_t end_ns, uint64_t episode_ns)
{
    region->parallel_ns += end_ns - start_ns;
    region->last_ns = end_ns;
    region->episode_ns = end_ns - episode_ns;
}

void times_add(struct times *times, uint64_t ns)
{
    if (times->count == 0 || ns < times->min_ns)
        times->min_ns = ns;
    if (ns > times->max_ns)
        times->max_ns = ns;
    times->count++;
    double off = (double)ns - times->mean_ns;
    times->mean_ns += off / (double)times->count;
    times->squares += off * ((double)ns - times->mean_ns);
}

/* The watched thread does not wait, so a copy during a change is repeated. */
long regions_copy(const struct region **copy)
{
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
        if ((before & 1) == 0) {
            size_t count = region_count <= MOST_REGIONS ? region_count : MOST_REGIONS;
            memcpy(copied, regions, count * sizeof *regions);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            if (__atomic_load_n(&version, __ATOMIC_RELAXED) == before) {
                *copy = copied;
                return (long)count;
            }
        }
        struct timespec pause = {0, 20000};
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return -1;
}

void regions_forget(void)
{
    memset(regions, 0, region_count * sizeof *regions);
    region_count = 0;
    lost = 0;
    version = 0;
}
