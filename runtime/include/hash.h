/* FNV-1a, the hash of texts whose result must be the same in every process. Pure. */
#ifndef RUNTIME_HASH_H
#define RUNTIME_HASH_H

#include <stddef.h>
#include <stdint.h>

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

#endif
