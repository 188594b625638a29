/* C++'s operators new and delete. Those of libstdc++ and libc++ call malloc and free, where the allocation counts: they
 * are called and nothing else, or malloc and free in their place. Those of an allocator (jemalloc, tcmalloc) do not,
 * and count here; any other may do either, which shows in the countdown: it has moved.
 *
 * As thread-safe as the operators. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "allocator.h"
#include "live.h"
#include "next.h"
#include "sampling.h"

/* The next operator. */
struct cpp_operator {
    void *calls_malloc; /* it, if it is a C++ library's */
    void *any;
    bool is_plain;     /* it does no more than call malloc or free, and these are ours */
    void *unless_live; /* of a PLAIN_DELETE, for a block that is not recorded */
};

/* Return whether an operator of a C++ library may be left out. The one for sizes calls the plain one, which the program
 * may define. */
static bool is_plain(const char *name)
{
    if (strcmp(name, "_Znwm") == 0)
        return allocator_provides("malloc");
    return (strcmp(name, "_ZdlPv") == 0 || strcmp(name, "_ZdlPvm") == 0) && allocator_provides("_ZdlPv") &&
           allocator_provides("free");
}

static bool is_of_library(const void *function)
{
    Dl_info object;
    if (dladdr(function, &object) == 0 || object.dli_fname == NULL)
        return false;
    const char *slash = strrchr(object.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : object.dli_fname;
    return strncmp(name, "libstdc++.so", 12) == 0 || strncmp(name, "libc++", 6) == 0;
}

/* A C++ library that was loaded by dlopen is not among the next ones. */
static __attribute__((noinline, cold)) void *find(struct cpp_operator *one, const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *found = next_function(&one->any, name);
    for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        found = library != NULL ? dlsym(library, name) : NULL;
    }
    __atomic_store_n(&one->any, found, __ATOMIC_RELAXED);
    if (found != NULL && is_of_library(found)) {
        bool may_be_left_out = is_plain(name);
        if (may_be_left_out && one->unless_live != NULL) {
            allocator_next.free(NULL); /* looks it up */
            __atomic_store_n(&one->unless_live, (void *)allocator_next.free, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&one->is_plain, may_be_left_out, __ATOMIC_RELAXED);
        __atomic_store_n(&one->calls_malloc, found, __ATOMIC_RELAXED);
    }
    return found;
}

static inline void *any_of(struct cpp_operator *one, const char *name)
{
    void *found = __atomic_load_n(&one->any, __ATOMIC_RELAXED);
    return LIKELY(found != NULL) ? found : find(one, name);
}

static __attribute__((noinline)) void *count_block(void *block, size_t bytes)
{
    struct pick pick;
    if (!sampling_pass(bytes) && sampling_pick(bytes, &pick) && block != NULL)
        events_add(block, bytes, &pick, 0);
    return block;
}

static __attribute__((noinline, cold)) void forget(void *block)
{
    uint32_t slot = live_take(block);
    if (slot != LIVE_NONE)
        live_freed(slot);
}

/* Without a C++ library, malloc is what its operators would call. */
static __attribute__((noinline, cold)) void *without_library(size_t bytes, size_t alignment, int may_fail)
{
    void *block = NULL;
    if (alignment == 0)
        block = malloc(bytes > 0 ? bytes : 1);
    else if (posix_memalign(&block, alignment, bytes) != 0)
        block = NULL;
    if (block == NULL && !may_fail)
        abort();
    return block;
}

#define NEW_BY_LIBRARY(name, parameters, arguments, alignment, may_fail)                                               \
    static struct cpp_operator operator_##name;                                                                        \
    static __attribute__((noinline)) void *name##_counted parameters                                                   \
    {                                                                                                                  \
        void *(*next)parameters = (void *(*)parameters)any_of(&operator_##name, #name);                                \
        if (next == NULL)                                                                                              \
            return without_library(bytes, alignment, may_fail);                                                        \
        const struct countdown before = {.left = countdown.left, .random = countdown.random};                          \
        void *block = next arguments;                                                                                  \
        bool has_counted = before.left != countdown.left || before.random != countdown.random;                         \
        return has_counted ? block : count_block(block, bytes);                                                        \
    }                                                                                                                  \
    static inline void *name##_by_library parameters                                                                   \
    {                                                                                                                  \
        void *next = __atomic_load_n(&operator_##name.calls_malloc, __ATOMIC_RELAXED);                                 \
        return LIKELY(next != NULL) ? ((void *(*)parameters)next)arguments : name##_counted arguments;                 \
    }

#define DELETE_BY_LIBRARY(name, parameters, arguments)                                                                 \
    static struct cpp_operator operator_##name;                                                                        \
    static __attribute__((noinline)) void name##_counted parameters                                                    \
    {                                                                                                                  \
        void(*next) parameters = (void(*) parameters)any_of(&operator_##name, #name);                                  \
        if (next == NULL) {                                                                                            \
            free(block);                                                                                               \
            return;                                                                                                    \
        }                                                                                                              \
        if (!LIKELY(!live_may_have(block)))                                                                            \
            forget(block);                                                                                             \
        next arguments;                                                                                                \
    }                                                                                                                  \
    static inline void name##_by_library parameters                                                                    \
    {                                                                                                                  \
        void *next = __atomic_load_n(&operator_##name.calls_malloc, __ATOMIC_RELAXED);                                 \
        if (LIKELY(next != NULL))                                                                                      \
            ((void(*) parameters)next) arguments;                                                                      \
        else                                                                                                           \
            name##_counted arguments;                                                                                  \
    }

#define NEW(name, parameters, arguments, alignment, may_fail)                                                          \
    NEW_BY_LIBRARY(name, parameters, arguments, alignment, may_fail)                                                   \
    EXPORT void *name parameters                                                                                       \
    {                                                                                                                  \
        return name##_by_library arguments;                                                                            \
    }

#define DELETE(name, parameters, arguments)                                                                            \
    DELETE_BY_LIBRARY(name, parameters, arguments)                                                                     \
    EXPORT void name parameters                                                                                        \
    {                                                                                                                  \
        name##_by_library arguments;                                                                                   \
    }

/* Likewise, but without the library's operator where that is plain: free can be called with its arguments. */
#define PLAIN_DELETE(name, parameters, arguments)                                                                      \
    DELETE_BY_LIBRARY(name, parameters, arguments)                                                                     \
    static __attribute__((noinline)) void name##_not_inlined parameters                                                \
    {                                                                                                                  \
        name##_by_library arguments;                                                                                   \
    }                                                                                                                  \
    static struct cpp_operator operator_##name = {.unless_live = (void *)name##_not_inlined};                          \
    EXPORT void name parameters                                                                                        \
    {                                                                                                                  \
        void *next = __atomic_load_n(&operator_##name.unless_live, __ATOMIC_RELAXED);                                  \
        if (LIKELY(!live_may_have(block)))                                                                             \
            ((void(*) parameters)next) arguments;                                                                      \
        else                                                                                                           \
            name##_not_inlined arguments;                                                                              \
    }

NEW_BY_LIBRARY(_Znwm, (size_t bytes), (bytes), 0, 0)

/* The library's operator calls malloc, which counts the bytes, for an allocation whose turn it may be, and where there
 * is no memory: it calls the program's handler, and throws. */
static __attribute__((noinline, cold)) void *_Znwm_again(size_t bytes)
{
    countdown.left += bytes;
    return _Znwm_by_library(bytes);
}

static __attribute__((noinline)) void *_Znwm_not_inlined(size_t bytes)
{
    return _Znwm_by_library(bytes);
}

EXPORT void *_Znwm(size_t bytes)
{
    if (!LIKELY(operator__Znwm.is_plain))
        return _Znwm_not_inlined(bytes);
    if (!sampling_pass(bytes))
        return _Znwm_again(bytes);
    void *block = allocator_next.malloc(bytes);
    return LIKELY(block != NULL) ? block : _Znwm_again(bytes);
}

NEW(_Znam, (size_t bytes), (bytes), 0, 0)
NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag), 0, 1)
NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void *tag), (bytes, tag), 0, 1)
NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), alignment, 0)
NEW(_ZnamSt11align_val_t, (size_t bytes, size_t alignment), (bytes, alignment), alignment, 0)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag),
    alignment, 1)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t alignment, const void *tag), (bytes, alignment, tag),
    alignment, 1)

PLAIN_DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
PLAIN_DELETE(_ZdlPvm, (void *block, size_t bytes), (block, bytes))
DELETE(_ZdaPvm, (void *block, size_t bytes), (block, bytes))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t bytes, size_t alignment), (block, bytes, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t bytes, size_t alignment), (block, bytes, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag), (block, alignment, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *tag), (block, alignment, tag))
