/* Thread safety: the watched thread alone (calls.c). */
#define _GNU_SOURCE
#include "regions.h"

#include <string.h>

#include "functions.h"

/* A set of functions: one bit per id. */
struct set {
    uint64_t word[MOST_FUNCTIONS / 64];
};

static struct set sets[MOST_REGIONS];
static uint8_t around[MOST_REGIONS]; /* by region: number of nested loops that contain all of its functions */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
    return x ^ (x >> 32);
}

static void add(struct set *set, uint16_t token)
{
    if (token < MOST_FUNCTIONS) {
        set->word[token / 64] |= (uint64_t)1 << token % 64;
        return;
    }
    for (size_t i = 0; i < MOST_FUNCTIONS / 64; i++)
        set->word[i] |= sets[token - MOST_FUNCTIONS].word[i];
}

/* Return a hash that is the same in every run, like the functions' values. */
static uint64_t hash_of(const struct set *set)
{
    uint64_t sum = 0;
    for (size_t id = 0; id < functions_count(); id++)
        if (set->word[id / 64] >> id % 64 & 1)
            sum += mixed((uint64_t)functions_get(id)->value);
    return mixed(sum);
}

/* List the members. An inner loop appears as its first two iterations, less one token, and then as itself; it is listed
 * once. */
static void describe(struct region *region, const uint16_t *tokens, size_t count)
{
    static uint16_t listed[4096];
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (tokens[i] < MOST_FUNCTIONS) {
            listed[length++] = tokens[i];
            continue;
        }
        const struct region *within = regions_at(tokens[i] - MOST_FUNCTIONS);
        size_t inner = within->member_count;
        size_t again = inner > 1 ? inner - 1 : 1;
        length -= again < length ? again : 0;
    }
    region->member_count = length < MOST_MEMBERS ? (uint32_t)length : MOST_MEMBERS;
    memcpy(region->members, listed, region->member_count * sizeof *listed);
}

struct region *members_region(const uint16_t *tokens, size_t count)
{
    struct set set = {{0}};
    uint8_t within = 0;
    for (size_t i = 0; i < count; i++)
        add(&set, tokens[i]);
    for (size_t i = 0; i < count; i++) {
        size_t at = tokens[i] - MOST_FUNCTIONS;
        if (tokens[i] >= MOST_FUNCTIONS && memcmp(&sets[at], &set, sizeof set) == 0 && around[at] >= within)
            within = (uint8_t)(around[at] + 1);
    }
    struct region *region = regions_find(hash_of(&set) + within, 0, false);
    if (region != NULL && region->member_count == 0) {
        sets[regions_index(region)] = set;
        around[regions_index(region)] = within;
        describe(region, tokens, count);
    }
    return region;
}

void members_forget(void)
{
    memset(sets, 0, sizeof sets);
    memset(around, 0, sizeof around);
}
