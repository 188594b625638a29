/* Thread safety: everything belongs to the lane's thread. No locks. */
#define _GNU_SOURCE
#include "lane.h"

#include <string.h>

#include "lookup.h"
#include "sys.h"

bool shapes_start(struct shapes *shapes)
{
    shapes->shapes = sys_alloc_untouched(MOST_SHAPES * sizeof *shapes->shapes);
    shapes->slots = sys_alloc_untouched(SHAPE_SLOTS * sizeof *shapes->slots);
    shapes->bytes = sys_alloc_untouched(SHAPE_BYTES);
    shapes->last = NO_SHAPE;
    return shapes->shapes != NULL && shapes->slots != NULL && shapes->bytes != NULL;
}

static bool is_it(const struct shapes *shapes, uint32_t number, const uint8_t *key, size_t length)
{
    const struct shape *shape = &shapes->shapes[number];
    return shape->length == length && memcmp(shapes->bytes + shape->at, key, length) == 0;
}

bool shapes_expected(const struct shapes *shapes, const uint8_t *key, size_t length)
{
    if (shapes->last == NO_SHAPE)
        return false;
    uint32_t follower = shapes->shapes[shapes->last].follower;
    return follower != NO_SHAPE && is_it(shapes, follower, key, length);
}

uint64_t shapes_hash(const uint8_t *key, size_t length)
{
    uint64_t hash = fnv_bytes(FNV_OFFSET, key, length);
    return hash ^ hash >> 32;
}

uint32_t shapes_find(const struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash)
{
    for (uint64_t slot = hash % SHAPE_SLOTS; shapes->slots[slot] != 0; slot = (slot + 1) % SHAPE_SLOTS) {
        uint32_t number = shapes->slots[slot] - 1;
        if (shapes->shapes[number].hash == hash && is_it(shapes, number, key, length))
            return number;
    }
    return NO_SHAPE;
}

bool shapes_have_room(const struct shapes *shapes, size_t length)
{
    return shapes->count < MOST_SHAPES && length <= SHAPE_BYTES - shapes->used;
}

void shapes_forget(struct shapes *shapes)
{
    memset(shapes->slots, 0, SHAPE_SLOTS * sizeof *shapes->slots);
    shapes->count = 0;
    shapes->used = 0;
    shapes->last = NO_SHAPE;
}

uint32_t shapes_add(struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash)
{
    uint32_t number = shapes->count++;
    shapes->shapes[number] =
        (struct shape){.hash = hash, .at = (uint32_t)shapes->used, .length = (uint32_t)length, .follower = NO_SHAPE};
    memcpy(shapes->bytes + shapes->used, key, length);
    shapes->used += length;
    uint64_t slot = hash % SHAPE_SLOTS;
    while (shapes->slots[slot] != 0)
        slot = (slot + 1) % SHAPE_SLOTS;
    shapes->slots[slot] = number + 1;
    return number;
}

void shapes_follow(struct shapes *shapes, uint32_t number)
{
    if (shapes->last != NO_SHAPE)
        shapes->shapes[shapes->last].follower = number;
    shapes->last = number;
}
