/* Hashing and binary search. Pure. */
#ifndef RUNTIME_LOOKUP_H
#define RUNTIME_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, the hash of texts whose result must be the same in every process. */

#define FNV_OFFSET 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

/* Continue a hash, which begins with FNV_OFFSET. */
static inline uint64_t fnv_bytes(uint64_t hash, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * FNV_PRIME;
    return hash;
}

static inline uint64_t fnv_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
    return hash;
}

/* Binary search. */

/* Return the number of leading items for which the condition holds, of `count` items; it holds for none behind the
 * first for which it does not. `at` is the item's index in the condition. */
#define COUNT_LEADING(count, at, condition)                                                                            \
    __extension__({                                                                                                    \
        size_t from_ = 0, to_ = (count);                                                                               \
        while (from_ < to_) {                                                                                          \
            size_t at = (from_ + to_) / 2;                                                                             \
            if (condition)                                                                                             \
                from_ = at + 1;                                                                                        \
            else                                                                                                       \
                to_ = at;                                                                                              \
        }                                                                                                              \
        from_;                                                                                                         \
    })

#endif
