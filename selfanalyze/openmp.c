/* Thread safety: all threads read and write `objects` without waiting, each entry under its own sequence lock. If
 * several threads write the same entry, one succeeds; the others store nothing. In a forked child an entry that was
 * being written stays unused. No other locks except the loader's, and only for the first call from a library, because a
 * team's threads may enter nested regions while another thread is in the loader and waits for them. */
#define _GNU_SOURCE
#include "openmp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "functions.h"
#include "log.h"

#define MOST_OBJECTS 64
#define PAGE_BYTES 4096

/* The functions called by code in [start, end). Valid until a library is unloaded. */
struct bound {
    uint32_t version; /* odd while it is written */
    uint64_t epoch, start, end;
    void *functions[OPENMP_COUNT];
};

#define NAME(name) #name,
static const char *const names[OPENMP_COUNT] = {OPENMP_FUNCTIONS(NAME)};
#undef NAME

static struct bound objects[MOST_OBJECTS];
static uint32_t next_victim;

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* Return the cached function for code at this address, or NULL. */
static void *cached_for(uint64_t address, uint64_t epoch, enum openmp_function function)
{
    for (struct bound *bound = objects; bound < objects + MOST_OBJECTS; bound++) {
        uint32_t version = __atomic_load_n(&bound->version, __ATOMIC_ACQUIRE);
        if (version == 0)
            return NULL;
        if (LOAD(bound->epoch) != epoch || address < LOAD(bound->start) || address >= LOAD(bound->end))
            continue;
        void *cached = LOAD(bound->functions[function]);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((version & 1) == 0 && LOAD(bound->version) == version)
            return cached;
    }
    return NULL;
}

/* Return an outdated entry, or any other. */
static struct bound *choose(uint64_t epoch)
{
    for (struct bound *bound = objects; bound < objects + MOST_OBJECTS; bound++)
        if (LOAD(bound->epoch) != epoch && (LOAD(bound->version) & 1) == 0)
            return bound;
    return &objects[__atomic_fetch_add(&next_victim, 1, __ATOMIC_RELAXED) % MOST_OBJECTS];
}

static void keep(const struct bound *new)
{
    struct bound *bound = choose(new->epoch);
    uint32_t version = LOAD(bound->version);
    if ((version & 1) != 0 ||
        !__atomic_compare_exchange_n(&bound->version, &version, version + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    STORE(bound->epoch, new->epoch);
    STORE(bound->start, new->start);
    STORE(bound->end, new->end);
    for (int i = 0; i < OPENMP_COUNT; i++)
        STORE(bound->functions[i], new->functions[i]);
    __atomic_store_n(&bound->version, version + 2, __ATOMIC_RELEASE);
}

/* Look up all functions at once, because the next one may be called where waiting for the loader's locks is impossible.
 * Code without a file is identified by its page. */
static void *find_all(uint64_t address, uint64_t epoch, enum openmp_function function)
{
    struct object at_address;
    const struct object *object = object_at(address, &at_address) ? &at_address : NULL;
    struct bound bound = {.epoch = epoch, .start = address / PAGE_BYTES * PAGE_BYTES};
    bound.end = bound.start + PAGE_BYTES;
    if (object != NULL) {
        bound.start = object->start;
        bound.end = object->end;
    }
    for (int i = 0; i < OPENMP_COUNT; i++)
        bound.functions[i] = binding_find(names[i], object);
    bool is_elsewhere = bound.functions[function] == NULL;
    for (int i = 0; is_elsewhere && i < OPENMP_COUNT; i++)
        if (bound.functions[i] == NULL)
            bound.functions[i] = binding_guess(names[i], object);
    if (closes_epoch() == epoch)
        keep(&bound);
    return bound.functions[function];
}

void *openmp_real(enum openmp_function function, const void *caller)
{
    uint64_t address = (uintptr_t)caller, epoch = closes_epoch();
    void *real = cached_for(address, epoch, function);
    if (real != NULL)
        return real;
    int saved_errno = errno;
    real = find_all(address, epoch, function);
    errno = saved_errno;
    if (real != NULL)
        return real;
    log_warn("no OpenMP run-time in this program has the function that it calls: ending it here", names[function]);
    _exit(127);
}

/* Return the cached function, without guessing: the caller's code may have been unloaded. */
static void *real_or_null(enum openmp_function function, const void *caller)
{
    uint64_t address = (uintptr_t)caller, epoch = closes_epoch();
    void *real = cached_for(address, epoch, function);
    struct object object;
    if (real != NULL || !object_at(address, &object))
        return real;
    int saved_errno = errno;
    real = binding_find(names[function], &object);
    errno = saved_errno;
    return real;
}

static int call_openmp(enum openmp_function function, const void *caller)
{
    int (*query)(void) = (int (*)(void))real_or_null(function, caller);
    return query != NULL ? query() : 0;
}

int openmp_max_threads(const void *caller)
{
    return call_openmp(OPENMP_omp_get_max_threads, caller);
}

int openmp_level(const void *caller)
{
    return call_openmp(OPENMP_omp_get_level, caller);
}

struct openmp_threads openmp_hold_threads(const void *caller)
{
    struct openmp_threads threads = {
        (int (*)(void))real_or_null(OPENMP_omp_get_max_threads, caller),
        (void (*)(int))real_or_null(OPENMP_omp_set_num_threads, caller),
    };
    if (threads.get == NULL || threads.set == NULL || !binding_hold((void *)threads.set))
        return (struct openmp_threads){NULL, NULL};
    return threads;
}
