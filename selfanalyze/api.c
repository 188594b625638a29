/* The library's side of selfanalyze.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>

#include "functions.h"
#include "regions.h"
#include "next.h"
#include "openmp.h"

EXPORT void sa_region_begin(const char *name, long iterations);
EXPORT void sa_region_begin(const char *name, long iterations)
{
    int saved_errno = errno;
    if (name != NULL && calls_own())
        explicit_begin(name, functions_hash(name), 0, iterations);
    errno = saved_errno;
}

EXPORT void sa_iteration(const char *name);
EXPORT void sa_iteration(const char *name)
{
    int saved_errno = errno;
    if (name != NULL && calls_own())
        explicit_iteration(name, functions_hash(name), 0, loops_caller());
    errno = saved_errno;
}

EXPORT void sa_region_end(const char *name);
EXPORT void sa_region_end(const char *name)
{
    int saved_errno = errno;
    if (name != NULL && calls_own())
        explicit_end(functions_hash(name), 0);
    errno = saved_errno;
}

EXPORT void sa_init_parallel_region(const void *address, int length);
EXPORT void sa_init_parallel_region(const void *address, int length)
{
    int saved_errno = errno;
    if (length > 0 && calls_own())
        explicit_iteration("", (uint64_t)functions_find(address)->value, (uint32_t)length, loops_caller());
    errno = saved_errno;
}
