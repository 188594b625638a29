/* The shapes of a thread's events: all that an event is but its times, as the bytes that the file has for it. An event
 * of a known shape is written as a number, and as less where the shape is the one that followed the last time. For one
 * thread; not async-signal-safe. */
#ifndef TRACE_SHAPES_H
#define TRACE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_SHAPES 16384u
#define SHAPE_SLOTS (2 * MOST_SHAPES)
#define SHAPE_BYTES ((size_t)4 << 20)
#define NO_SHAPE UINT32_MAX

struct shape {
    uint64_t hash;
    uint32_t at, length;          /* of its bytes */
    uint32_t follower;            /* the shape that came behind it the last time, or NO_SHAPE */
    bool is_timed;                /* it has means */
    uint64_t gap_ns, duration_ns; /* running means */
};

struct shapes {
    struct shape *shapes;
    uint32_t *slots; /* 1 + number */
    uint8_t *bytes;
    uint32_t count;
    uint32_t last; /* of the event before, or NO_SHAPE */
    size_t used;
};

bool shapes_start(struct shapes *shapes);

/* Whether this is the shape that is expected. */
bool shapes_expected(const struct shapes *shapes, const uint8_t *key, size_t length);

/* The number of a known shape, or NO_SHAPE. */
uint32_t shapes_find(const struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash);
uint64_t shapes_hash(const uint8_t *key, size_t length);

/* Whether there is room for one more; otherwise all are to be forgotten first. */
bool shapes_have_room(const struct shapes *shapes, size_t length);
void shapes_forget(struct shapes *shapes);
uint32_t shapes_add(struct shapes *shapes, const uint8_t *key, size_t length, uint64_t hash);

/* This shape came now. */
void shapes_follow(struct shapes *shapes, uint32_t number);

#endif
