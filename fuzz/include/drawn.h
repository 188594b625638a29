/* What a harness draws from its input: bytes from the front, zeros once there are none left. */
#ifndef FUZZ_DRAWN_H
#define FUZZ_DRAWN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A result that must not be. */
#define DEMAND(holds) ((holds) ? (void)0 : abort())

/* As many bytes as a file of that size may cost. */
#define ALLOWED_BYTES(file) (16 * (file) + ((size_t)64 << 20))

struct drawn {
    const uint8_t *at;
    size_t left;
};

static inline uint64_t draw(struct drawn *drawn, size_t bytes)
{
    uint64_t value = 0;
    size_t taken = bytes < drawn->left ? bytes : drawn->left;
    if (taken > 0)
        memcpy(&value, drawn->at, taken);
    drawn->at += taken;
    drawn->left -= taken;
    return value;
}

static inline uint64_t draw_below(struct drawn *drawn, uint64_t limit)
{
    return draw(drawn, limit <= 256 ? 1 : limit <= 65536 ? 2 : 8) % limit;
}

/* A text up to the next NUL, in memory of its own. */
static inline char *draw_text(struct drawn *drawn)
{
    const uint8_t *end = drawn->left > 0 ? memchr(drawn->at, '\0', drawn->left) : NULL;
    size_t length = end != NULL ? (size_t)(end - drawn->at) : drawn->left;
    char *text = calloc(1, length + 1);
    if (length > 0)
        memcpy(text, drawn->at, length);
    drawn->at += length + (end != NULL);
    drawn->left -= length + (end != NULL);
    return text;
}

#endif
