#define _GNU_SOURCE
#include "catalogue.h"

#include <stdbool.h>
#include <string.h>

#include "lock.h"

#define ENTRIES 16384u /* most of it stays untouched zero pages */

static struct beat beats[ENTRIES];
static uint32_t default_factor = 1;
static struct lock lock;

/* The id's entry, or the free one where it would be, or NULL when all are taken. */
static struct beat *entry_of(uint32_t id)
{
    for (uint32_t step = 0; step < ENTRIES; step++) {
        struct beat *beat = &beats[(id + step) % ENTRIES];
        if (beat->version == 0 || beat->id == id)
            return beat;
    }
    return NULL;
}

/* How many bytes the UTF-8 character at `text` has; 0 if it is none. */
static size_t character(const unsigned char *text)
{
    size_t length = *text < 0x80 ? 1 : *text >= 0xc2 && *text < 0xe0 ? 2 : (*text & 0xf0) == 0xe0 ? 3 : 4;
    if (length == 4 && (*text < 0xf0 || *text > 0xf4))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xf0 && text[1] < 0x90);
    bool no_character = (*text == 0xed && text[1] >= 0xa0) || (*text == 0xf4 && text[1] >= 0x90);
    return overlong || no_character ? 0 : length;
}

/* Whole characters, as many as fit; what is not UTF-8 becomes question marks, so that the files stay text. */
static void copy_name(char *into, const char *name)
{
    size_t length = 0;
    while (*name != '\0') {
        size_t bytes = character((const unsigned char *)name);
        if (length + (bytes > 0 ? bytes : 1) >= LONGEST_BEAT_NAME)
            break;
        if (bytes > 0)
            memcpy(into + length, name, bytes);
        else
            into[length] = '?';
        length += bytes > 0 ? bytes : 1;
        name += bytes > 0 ? bytes : 1;
    }
    into[length] = '\0';
}

static void change(uint32_t id, const char *name, uint32_t factor)
{
    uint64_t mask = lock_take(&lock);
    struct beat *beat = entry_of(id);
    if (beat != NULL) {
        if (beat->version++ == 0)
            *beat = (struct beat){.id = id, .version = 1};
        if (factor != 0)
            beat->factor = factor;
        if (name != NULL)
            copy_name(beat->name, name);
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
    if (entry != NULL && entry->version != 0)
        *beat = *entry;
    else
        *beat = (struct beat){.id = id};
    lock_give(&lock, mask);
    if (beat->factor == 0)
        beat->factor = __atomic_load_n(&default_factor, __ATOMIC_RELAXED);
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
