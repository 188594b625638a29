#include "sys.h"

#include <malloc.h>
#include <stdlib.h>

#define MOST_ADDRESSES ((size_t)1 << 46) /* the kernel has no more for a process */

static size_t allowed, live;

void watched_allow(size_t bytes)
{
    allowed = live + bytes;
}

void *watched_alloc(size_t bytes)
{
    if (bytes == 0 || bytes > MOST_ADDRESSES)
        return NULL;
    if (live + bytes > allowed)
        abort();
    void *memory = calloc(1, bytes);
    live += memory != NULL ? bytes : 0;
    return memory;
}

void watched_free(void *memory, size_t bytes)
{
    if (memory == NULL)
        return;
    if (malloc_usable_size(memory) != bytes)
        abort();
    live -= bytes;
    free(memory);
}
