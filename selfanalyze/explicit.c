/* The library's side of selfanalyze.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "calls.h"
#include "functions.h"
#include "told.h"

#define EXPORT __attribute__((visibility("default")))

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

EXPORT void sa_region_begin(const char *name, long iterations);
EXPORT void sa_region_begin(const char *name, long iterations)
{
    int kept = errno;
    if (name != NULL && calls_own())
        told_begin(name, hash_of(name), 0, iterations);
    errno = kept;
}

EXPORT void sa_iteration(const char *name);
EXPORT void sa_iteration(const char *name)
{
    int kept = errno;
    if (name != NULL && calls_own())
        told_iteration(name, hash_of(name), 0);
    errno = kept;
}

EXPORT void sa_region_end(const char *name);
EXPORT void sa_region_end(const char *name)
{
    int kept = errno;
    if (name != NULL && calls_own())
        told_end(hash_of(name), 0);
    errno = kept;
}

EXPORT void sa_init_parallel_region(const void *address, int length);
EXPORT void sa_init_parallel_region(const void *address, int length)
{
    int kept = errno;
    if (length > 0 && calls_own())
        told_iteration("", (uint64_t)functions_find(address)->value, (uint32_t)length);
    errno = kept;
}
