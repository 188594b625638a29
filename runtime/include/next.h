/* The next definition of a function that this library wraps: libc's, or that of a library preloaded behind this one.
 *
 * NEXT is thread-safe and async-signal-safe: functions named by DECLARE_NEXT are looked up in a constructor, before a
 * signal handler or a forked child of the program can need them.
 */
#ifndef RUNTIME_NEXT_H
#define RUNTIME_NEXT_H

#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static inline void *next_function(void **slot, const char *name)
{
    void *function = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (function == NULL) {
        function = dlsym(RTLD_NEXT, name);
        __atomic_store_n(slot, function, __ATOMIC_RELAXED);
    }
    return function;
}

#define DECLARE_NEXT(name)                                                                                             \
    static void *next_##name;                                                                                          \
    __attribute__((constructor)) static void find_next_##name(void)                                                    \
    {                                                                                                                  \
        next_function(&next_##name, #name);                                                                            \
    }                                                                                                                  \
    static void *next_##name
#define NEXT(name) ((__typeof__(&name))next_function(&next_##name, #name))

#endif
