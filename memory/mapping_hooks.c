/* Anonymous memory that a program maps itself. Not counted are what an allocator maps, reservations that cannot be
 * written, and files.
 *
 * Thread safety: `regions` are guarded by `lock`, with signals blocked. Who does not get it soon leaves the regions as
 * they are: a mapping then seems alive although it is not. The calls are async-signal-safe, as libc's are. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/mman.h>

#include "allocator.h"
#include "libc.h"
#include "live.h"
#include "next.h"
#include "sampling.h"
#include "sys.h"

#define MOST_REGIONS 4096
#define PATIENCE 1000

/* The recorded mappings, by their first bytes in the table of live.h. */
static struct region {
    uintptr_t start, end;
} regions[MOST_REGIONS];
static size_t region_count;
static int lock;

DECLARE_NEXT(mmap);
DECLARE_NEXT(mmap64);
DECLARE_NEXT(munmap);
DECLARE_NEXT(mremap);

static bool acquire_lock(uint64_t *mask)
{
    *mask = sys_block_signals();
    for (int turn = 0; turn < PATIENCE; turn++) {
        if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) == 0)
            return true;
        SYS0(SYS_sched_yield);
    }
    sys_set_signal_mask(*mask);
    return false;
}

static void release_lock(uint64_t mask)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    sys_set_signal_mask(mask);
}

/* A child has one thread, which is not in here. */
static void forget_regions(void)
{
    lock = 0;
    __atomic_store_n(&region_count, 0, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void start(void)
{
    libc_at_fork(NULL, NULL, forget_regions);
}

static bool add_region(uintptr_t start, uintptr_t end)
{
    uint64_t mask;
    if (!acquire_lock(&mask))
        return false;
    bool has_room = region_count < MOST_REGIONS;
    if (has_room) {
        regions[region_count] = (struct region){start, end};
        __atomic_store_n(&region_count, region_count + 1, __ATOMIC_RELAXED);
    }
    release_lock(mask);
    return has_room;
}

/* Take a region out that overlaps the range. */
static bool take_region(uintptr_t start, uintptr_t end, struct region *taken)
{
    uint64_t mask;
    bool found = false;
    if (__atomic_load_n(&region_count, __ATOMIC_RELAXED) == 0 || !acquire_lock(&mask))
        return false;
    for (size_t i = 0; i < region_count && !found; i++) {
        if (regions[i].start >= end || regions[i].end <= start)
            continue;
        *taken = regions[i];
        regions[i] = regions[region_count - 1];
        __atomic_store_n(&region_count, region_count - 1, __ATOMIC_RELAXED);
        found = true;
    }
    release_lock(mask);
    return found;
}

static void keep(uintptr_t start, uintptr_t end, uint64_t id)
{
    if (end > start && add_region(start, end))
        events_continue((void *)start, end - start, id);
}

/* The range is about to be unmapped. Before: another thread may map it at once. */
static void unmapped(uintptr_t start, size_t bytes)
{
    struct region region;
    uintptr_t end = start + (bytes + 4095) / 4096 * 4096;
    while (take_region(start, end, &region)) {
        uint32_t entry = live_take((void *)region.start);
        if (entry == LIVE_NONE)
            continue;
        uint64_t id = live_id(entry);
        live_freed(entry);
        keep(region.start, start < region.end ? start : region.end, id);
        keep(end > region.start ? end : region.start, region.end, id);
    }
}

static __attribute__((noinline)) void mapped(void *at, size_t bytes, const void *caller)
{
    struct pick pick;
    size_t whole = (bytes + 4095) / 4096 * 4096;
    if (allocator_has(caller) || sampling_pass(whole) || !sampling_pick(whole, &pick))
        return;
    if (add_region((uintptr_t)at, (uintptr_t)at + whole) && !events_add(at, whole, &pick, EVENT_MAPPING)) {
        struct region region;
        take_region((uintptr_t)at, (uintptr_t)at + 1, &region);
    }
}

static bool is_counted(int protection, int flags)
{
    return (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_NORESERVE) == 0 && (protection & PROT_WRITE) != 0;
}

#define MAP(name)                                                                                                      \
    if ((flags & MAP_FIXED) != 0)                                                                                      \
        unmapped((uintptr_t)address, bytes);                                                                           \
    void *at = NEXT(name)(address, bytes, protection, flags, fd, offset);                                              \
    if (at != MAP_FAILED && is_counted(protection, flags))                                                             \
        mapped(at, bytes, __builtin_return_address(0));                                                                \
    return at

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    MAP(mmap);
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    MAP(mmap64);
}

EXPORT int munmap(void *address, size_t bytes)
{
    unmapped((uintptr_t)address, bytes);
    return NEXT(munmap)(address, bytes);
}

EXPORT void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *target = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void *) : NULL;
    va_end(more);
    struct region region;
    bool is_known = take_region((uintptr_t)address, (uintptr_t)address + 1, &region);
    uint32_t entry = is_known ? live_take((void *)region.start) : LIVE_NONE;
    if (target != NULL)
        unmapped((uintptr_t)target, new_bytes);
    void *at = NEXT(mremap)(address, bytes, new_bytes, flags, target);
    if (entry == LIVE_NONE)
        return at;
    if (at == MAP_FAILED) {
        if (!live_put_back(entry, (void *)region.start) || !add_region(region.start, region.end))
            live_freed(entry);
        return at;
    }
    live_freed(entry);
    mapped(at, new_bytes, __builtin_return_address(0));
    return at;
}
