/* libc's functions that allocate. As thread-safe and async-signal-safe as the allocator's; errno is the allocator's. An
 * allocation that is not recorded costs a comparison and a subtraction before the jump to the allocator, a free one
 * look into a table. */
#define _GNU_SOURCE
#include "allocator.h"
#include "live.h"
#include "next.h"
#include "sampling.h"

/* Return the bytes of an array; 0 if they are too many, which the allocator refuses. */
static inline size_t product(size_t count, size_t each)
{
    size_t bytes;
    return __builtin_mul_overflow(count, each, &bytes) ? 0 : bytes;
}

static __attribute__((noinline, cold)) void *recorded(void *block, size_t bytes, const struct pick *pick)
{
    if (block != NULL)
        events_add(block, bytes, pick, 0);
    return block;
}

/* Take a block out that is about to be freed. False: it is none of the allocator's. */
static __attribute__((noinline, cold)) bool forget(void *block)
{
    if (allocator_is_early(block))
        return false;
    uint32_t entry = live_take(block);
    if (entry != LIVE_NONE)
        live_freed(entry);
    return true;
}

/* Define a function that allocates, with a part of its own for the allocations whose turn it may be: the others jump to
 * the allocator. */
#define ALLOCATE(name, parameters, bytes, arguments)                                                                   \
    static __attribute__((noinline, cold)) void *name##_at_turn parameters                                             \
    {                                                                                                                  \
        struct pick pick;                                                                                              \
        bool is_picked = sampling_pick(bytes, &pick);                                                                  \
        void *block = allocator_next.name arguments;                                                                   \
        return is_picked ? recorded(block, bytes, &pick) : block;                                                      \
    }                                                                                                                  \
    EXPORT void *name parameters                                                                                       \
    {                                                                                                                  \
        return LIKELY(sampling_pass(bytes)) ? allocator_next.name arguments : name##_at_turn arguments;                \
    }

ALLOCATE(malloc, (size_t bytes), bytes, (bytes))
ALLOCATE(memalign, (size_t alignment, size_t bytes), bytes, (alignment, bytes))
ALLOCATE(aligned_alloc, (size_t alignment, size_t bytes), bytes, (alignment, bytes))
ALLOCATE(valloc, (size_t bytes), bytes, (bytes))
ALLOCATE(pvalloc, (size_t bytes), bytes, (bytes))
ALLOCATE(calloc, (size_t count, size_t each), product(count, each), (count, each))

EXPORT void free(void *block)
{
    if (LIKELY(!live_may_have(block)) || forget(block))
        allocator_next.free(block);
}

EXPORT void cfree(void *block)
{
    free(block);
}

/* Like a free and an allocation, as for the program itself. A block that stays because there is no memory is put back.
 * `has_passed`: as sampling_pass has returned. */
static __attribute__((noinline, cold)) void *
reallocate(bool has_passed, void *block, size_t bytes, void *(*call)(void *, size_t, size_t), size_t count, size_t each)
{
    struct pick pick;
    bool is_picked = !has_passed && sampling_pick(bytes, &pick);
    uint32_t entry = block != NULL && live_may_have(block) ? live_take(block) : LIVE_NONE;
    void *moved = call(block, count, each);
    if (entry != LIVE_NONE && (moved != NULL || bytes == 0))
        live_freed(entry);
    else if (entry != LIVE_NONE && !live_put_back(entry, block))
        live_freed(entry);
    return is_picked ? recorded(moved, bytes, &pick) : moved;
}

static void *call_realloc(void *block, size_t count, size_t each)
{
    (void)count;
    return allocator_next.realloc(block, each);
}

static void *call_reallocarray(void *block, size_t count, size_t each)
{
    return allocator_next.reallocarray(block, count, each);
}

static __attribute__((noinline, cold)) void *realloc_at_turn(bool has_passed, void *block, size_t bytes)
{
    if (block != NULL && allocator_is_early(block)) {
        void *moved = malloc(bytes);
        size_t length = moved != NULL ? ((size_t *)block)[-2] : 0;
        for (size_t i = 0; i < length && i < bytes; i++)
            ((char *)moved)[i] = ((char *)block)[i];
        return moved;
    }
    return reallocate(has_passed, block, bytes, call_realloc, 1, bytes);
}

/* Early blocks may be had, too (allocator_mark_early). */
EXPORT void *realloc(void *block, size_t bytes)
{
    bool has_passed = sampling_pass(bytes);
    if (LIKELY(has_passed) && LIKELY(!live_may_have(block)))
        return allocator_next.realloc(block, bytes);
    return realloc_at_turn(has_passed, block, bytes);
}

EXPORT void *reallocarray(void *block, size_t count, size_t each)
{
    size_t all = 0;
    if (__builtin_mul_overflow(count, each, &all) || (block != NULL && allocator_is_early(block)))
        return allocator_next.reallocarray(block, count, each);
    return reallocate(sampling_pass(all), block, all, call_reallocarray, count, each);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    struct pick pick;
    if (sampling_pass(bytes) || !sampling_pick(bytes, &pick))
        return allocator_next.posix_memalign(block, alignment, bytes);
    int result = allocator_next.posix_memalign(block, alignment, bytes);
    if (result == 0)
        recorded(*block, bytes, &pick);
    return result;
}
