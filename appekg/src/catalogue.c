/* Thread safety: `lock` guards the entries and their number; default_factor and changes are atomic. No other lock is
 * taken under it. At a fork it is the last of three (lifecycle.c). */
#define _GNU_SOURCE
#include "catalogue.h"

#include <stdbool.h>
#include <string.h>

#include "fixed_text.h"
#include "record.h"

#define ENTRIES 16384u /* most of it stays untouched zero pages */
#define MOST_IDS (ENTRIES / 4 * 3)

static struct beat beats[ENTRIES];
static uint32_t ids;
static uint32_t default_factor = 1;
static uint32_t changes;
static struct lock lock;

/* Return the id's entry, or the free one for it: there is always one nearby. */
static struct beat *entry_of(uint32_t id)
{
    uint32_t at = spread(id, ENTRIES);
    while (beats[at].version != 0 && beats[at].id != id)
        at = (at + 1) % ENTRIES;
    return &beats[at];
}

static void change(uint32_t id, const char *name, uint32_t factor)
{
    uint64_t mask = lock_take(&lock);
    struct beat *beat = entry_of(id);
    if (beat->version != 0 || ids < MOST_IDS) {
        if (beat->version++ == 0) {
            *beat = (struct beat){.id = id, .version = 1};
            ids++;
        }
        if (factor != 0)
            beat->factor = factor;
        if (name != NULL)
            utf8_copy(beat->name, sizeof beat->name, name);
        __atomic_store_n(&changes, changes + 1, __ATOMIC_RELEASE);
    }
    lock_give(&lock, mask);
}

void catalogue_set_default_factor(uint32_t factor)
{
    __atomic_store_n(&default_factor, factor, __ATOMIC_RELAXED);
}

void catalogue_set_name(uint32_t id, const char *name)
{
    change(id, name != NULL ? name : "", 0);
}

void catalogue_set_factor(uint32_t id, uint32_t factor)
{
    change(id, NULL, factor);
}

void catalogue_get(uint32_t id, struct beat *beat)
{
    uint64_t mask = lock_take(&lock);
    const struct beat *entry = entry_of(id);
    if (entry->version != 0)
        *beat = *entry;
    else
        *beat = (struct beat){.id = id};
    lock_give(&lock, mask);
    if (beat->factor == 0)
        beat->factor = __atomic_load_n(&default_factor, __ATOMIC_RELAXED);
}

uint32_t catalogue_changes(void)
{
    return __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
}

uint32_t catalogue_factor(uint32_t id)
{
    struct beat beat;
    catalogue_get(id, &beat);
    return beat.factor;
}

uint64_t catalogue_before_fork(void)
{
    return lock_take(&lock);
}

void catalogue_after_fork(uint64_t mask)
{
    lock_give(&lock, mask);
}
