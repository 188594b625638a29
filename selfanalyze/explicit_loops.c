/* Thread safety: the watched thread alone (calls.c). */
#define _GNU_SOURCE
#include "loops.h"

#include <stddef.h>
#include <string.h>

#include "regions.h"
#include "sys.h"

#define MOST_LOOPS 16

struct visit {
    struct region *region;
    uint64_t start_ns, iteration_ns; /* iteration_ns: begin of the current one, or 0 */
    uint32_t epoch;
};

static struct visit visits[MOST_LOOPS];
static int count;

static struct visit *find(uint64_t hash, uint32_t period)
{
    for (int i = count; i-- > 0;)
        if (visits[i].region->hash == hash && visits[i].region->length == period)
            return &visits[i];
    return NULL;
}

static struct visit *open_visit(const char *name, uint64_t hash, uint32_t period, uint64_t now)
{
    struct region *region = count < MOST_LOOPS ? regions_find(hash, period, true) : NULL;
    if (region == NULL)
        return NULL;
    if (region->visits++ == 0) {
        strncpy(region->name, name, sizeof region->name - 1);
        region->first_ns = now;
        region->depth = (uint32_t)count;
    }
    struct visit *visit = &visits[count++];
    *visit = (struct visit){.region = region, .start_ns = now};
    return visit;
}

static void end_iteration(struct visit *visit, uint64_t now)
{
    struct region *region = visit->region;
    region->episode_ns = now - visit->start_ns;
    region->last_ns = now;
    if (visit->iteration_ns == 0)
        return;
    region->iterations++;
    if (visit->epoch == baseline_epoch())
        baseline_account(region, visit->epoch, now - visit->iteration_ns);
}

void explicit_begin(const char *name, uint64_t hash, uint32_t period, long expected)
{
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit == NULL)
        visit = open_visit(name, hash, period, monotonic_ns());
    if (visit != NULL && expected > 0)
        visit->region->expected = (uint64_t)expected;
    regions_end_change();
}

void explicit_iteration(const char *name, uint64_t hash, uint32_t period, const void *caller)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit == NULL)
        visit = open_visit(name, hash, period, now);
    if (visit != NULL) {
        end_iteration(visit, now);
        visit->iteration_ns = now;
        baseline_boundary(visit->region, visit == visits, caller);
        visit->epoch = baseline_epoch();
    }
    regions_end_change();
}

void explicit_end(uint64_t hash, uint32_t period)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit != NULL) {
        end_iteration(visit, now);
        visit->region->span_ns += visit->region->episode_ns;
        visit->region->episode_ns = 0;
        baseline_end(visit->region);
        memmove(visit, visit + 1, (size_t)(visits + --count - visit) * sizeof *visit);
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
        regions_note_threads(visits[i].region, threads);
}

void explicit_call(uint64_t start_ns, uint64_t end_ns)
{
    for (int i = 0; i < count; i++)
        regions_add_call(visits[i].region, start_ns, end_ns, visits[i].start_ns);
}

void explicit_break(void)
{
    for (int i = 0; i < count; i++) {
        visits[i].region->span_ns += visits[i].region->episode_ns;
        visits[i].region->episode_ns = 0;
        baseline_end(visits[i].region);
    }
    count = 0;
}

void explicit_forget(void)
{
    count = 0;
}
