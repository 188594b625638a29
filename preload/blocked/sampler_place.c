#define _GNU_SOURCE
#include "sampler_place.h"

#include <stdbool.h>
#include <string.h>

#include "blocked_thread.h"
#include "sys.h"

#define WORDS 64 /* of 64 processors */
/* A look at a thread costs some 15 us: so, .02 % of one processor. */
#define LOOK_EVERY_NS 100000000u
#define MOST_NOTED 8

struct processors {
    uint64_t words[WORDS];
};

static struct processors allowed, chosen, noted;
static unsigned noted_count;
static uint64_t due_ns;

static bool read_allowed(struct processors *found)
{
    *found = (struct processors){{0}};
    return SYS3(SYS_sched_getaffinity, 0, sizeof *found, found) > 0;
}

void sampler_place_begin(void)
{
    due_ns = read_allowed(&allowed) ? 0 : UINT64_MAX;
    chosen = allowed;
    noted_count = 0;
}

void sampler_place_note(pid_t tid, uint64_t now_ns)
{
    if (now_ns < due_ns || noted_count == MOST_NOTED)
        return;
    int processor = task_processor(tid);
    if (processor < 0 || processor >= WORDS * 64)
        return;
    if (noted_count++ == 0)
        noted = (struct processors){{0}};
    noted.words[processor / 64] |= UINT64_C(1) << processor % 64;
}

/* Somebody else may have given the thread other processors meanwhile. */
static void follow_changes(void)
{
    struct processors now;
    if (read_allowed(&now) && memcmp(&now, &chosen, sizeof now) != 0)
        allowed = chosen = now;
}

void sampler_place_choose(uint64_t now_ns)
{
    struct processors next;
    uint64_t any = 0;
    if (noted_count == 0)
        return;
    due_ns = now_ns + noted_count * (uint64_t)LOOK_EVERY_NS;
    noted_count = 0;
    follow_changes();
    for (int i = 0; i < WORDS; i++) {
        next.words[i] = allowed.words[i] & ~noted.words[i];
        any |= next.words[i];
    }
    if (any == 0 || memcmp(&next, &chosen, sizeof next) == 0)
        return;
    if (SYS3(SYS_sched_setaffinity, 0, sizeof next, &next) == 0)
        chosen = next;
}
