#define _GNU_SOURCE
#include "told.h"

#include <stddef.h>
#include <string.h>

#include "baseline.h"
#include "loops.h"
#include "regions.h"
#include "sys.h"

#define MOST_TOLD 16

struct visit {
    struct region *region;
    uint64_t start_ns, iteration_ns; /* iteration_ns: begin of the one under way, or 0 */
    uint32_t epoch;
};

static struct visit told[MOST_TOLD];
static int count;

static struct visit *find(uint64_t hash, uint32_t period)
{
    for (int i = count; i-- > 0;)
        if (told[i].region->hash == hash && told[i].region->period == period)
            return &told[i];
    return NULL;
}

static struct visit *open_told(const char *name, uint64_t hash, uint32_t period, uint64_t now)
{
    struct region *region = count < MOST_TOLD ? regions_find(hash, period, true) : NULL;
    if (region == NULL)
        return NULL;
    if (region->visits++ == 0) {
        strncpy(region->name, name, sizeof region->name - 1);
        region->first_ns = now;
        region->depth = (uint32_t)count;
    }
    struct visit *visit = &told[count++];
    *visit = (struct visit){.region = region, .start_ns = now};
    return visit;
}

static void end_iteration(struct visit *visit, uint64_t now)
{
    struct region *region = visit->region;
    region->visit_ns = now - visit->start_ns;
    region->last_ns = now;
    if (visit->iteration_ns == 0)
        return;
    region->iterations++;
    if (visit->epoch == baseline_epoch())
        baseline_account(region, visit->epoch, now - visit->iteration_ns);
}

void told_begin(const char *name, uint64_t hash, uint32_t period, long expected)
{
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit == NULL)
        visit = open_told(name, hash, period, monotonic_ns());
    if (visit != NULL && expected > 0)
        visit->region->expected = (uint64_t)expected;
    regions_end_change();
}

void told_iteration(const char *name, uint64_t hash, uint32_t period)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit == NULL)
        visit = open_told(name, hash, period, now);
    if (visit != NULL) {
        end_iteration(visit, now);
        visit->iteration_ns = now;
        baseline_boundary(visit->region, visit == told, loops_caller());
        visit->epoch = baseline_epoch();
    }
    regions_end_change();
}

void told_end(uint64_t hash, uint32_t period)
{
    uint64_t now = monotonic_ns();
    regions_begin_change();
    struct visit *visit = find(hash, period);
    if (visit != NULL) {
        end_iteration(visit, now);
        visit->region->span_ns += visit->region->visit_ns;
        visit->region->visit_ns = 0;
        baseline_end(visit->region, loops_caller());
        memmove(visit, visit + 1, (size_t)(told + --count - visit) * sizeof *visit);
    }
    regions_end_change();
}

int told_count(void)
{
    return count;
}

void told_threads(int threads)
{
    for (int i = 0; i < count && baseline_is_usual(); i++)
        regions_note_threads(told[i].region, threads);
}

void told_call(uint64_t start_ns, uint64_t end_ns)
{
    for (int i = 0; i < count; i++)
        regions_add_call(told[i].region, start_ns, end_ns, told[i].start_ns);
}

void told_break(void)
{
    for (int i = 0; i < count; i++) {
        told[i].region->span_ns += told[i].region->visit_ns;
        told[i].region->visit_ns = 0;
        baseline_end(told[i].region, loops_caller());
    }
    count = 0;
}

void told_forget(void)
{
    count = 0;
}
