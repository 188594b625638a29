/* Thread safety: the watched thread alone (calls.c). */
#define _GNU_SOURCE

#include <stddef.h>
#include <string.h>

#include "regions.h"
#include "sys.h"

#define MOST_LOOPS 16

struct episode {
    struct region *region;
    uint64_t start_ns, iteration_ns; /* iteration_ns: begin of the current one, or 0 */
    uint32_t epoch;
};

static struct episode episodes[MOST_LOOPS];
static int count;

static struct episode *find(uint64_t hash, uint32_t period)
{
    for (int i = count; i-- > 0;)
        if (episodes[i].region->hash == hash && episodes[i].region->length == period)
            return &episodes[i];
    return NULL;
}

static struct episode *open_episode(const char *name, uint64_t hash, uint32_t period, uint64_t now)
{
    struct region *region = count < MOST_LOOPS ? regions_find(hash, period, true) : NULL;
    if (region == NULL)
        return NULL;
    if (region->episodes++ == 0) {
        strncpy(region->name, name, sizeof region->name - 1);
        region->first_ns = now;
        region->depth = (uint32_t)count;
    }
    struct episode *episode = &episodes[count++];
    *episode = (struct episode){.region = region, .start_ns = now};
    return episode;
}

static void end_iteration(struct episode *episode, uint64_t now)
{
    struct region *region = episode->region;
    region->episode_ns = now - episode->start_ns;
    region->last_ns = now;
    if (episode->iteration_ns == 0)
        return;
    region->iterations++;
    if (episode->epoch == baseline_epoch())
        baseline_account(region, episode->epoch, now - episode->iteration_ns);
}

void explicit_begin(const char *name, uint64_t hash, uint32_t period, long expected)
{
    regions_begin_change();
    struct episode *episode = find(hash, period);
    if (episode == NULL)
        episode = open_episode(name, hash, period, monotonic_ns());
    if (episode != NULL && expected > 0)
        episode->region->expected = (uint64_t)expected;
    regions_end_change();
}

void explicit_iteration(const char *name, uint64_t hash, uint32_t period, const void *caller)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct episode *episode = find(hash, period);
    if (episode == NULL)
        episode = open_episode(name, hash, period, now);
    if (episode != NULL) {
        end_iteration(episode, now);
        episode->iteration_ns = now;
        baseline_boundary(episode->region, episode == episodes, caller);
        episode->epoch = baseline_epoch();
    }
    regions_end_change();
}

void explicit_end(uint64_t hash, uint32_t period)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct episode *episode = find(hash, period);
    if (episode != NULL) {
        end_iteration(episode, now);
        episode->region->span_ns += episode->region->episode_ns;
        episode->region->episode_ns = 0;
        baseline_end(episode->region);
        memmove(episode, episode + 1, (size_t)(episodes + --count - episode) * sizeof *episode);
    }
    regions_end_change();
}

int explicit_count(void)
{
    return count;
}

void explicit_threads(int threads)
{
    for (int i = 0; i < count && baseline_is_usual(); i++)
        regions_note_threads(episodes[i].region, threads);
}

void explicit_call(uint64_t start_ns, uint64_t end_ns)
{
    for (int i = 0; i < count; i++)
        regions_add_call(episodes[i].region, start_ns, end_ns, episodes[i].start_ns);
}

void explicit_break(void)
{
    for (int i = 0; i < count; i++) {
        episodes[i].region->span_ns += episodes[i].region->episode_ns;
        episodes[i].region->episode_ns = 0;
        baseline_end(episodes[i].region);
    }
    count = 0;
}

void explicit_forget(void)
{
    count = 0;
}
