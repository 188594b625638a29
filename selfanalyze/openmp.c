#define _GNU_SOURCE
#include "openmp.h"

#include <dlfcn.h>
#include <stddef.h>

/* A library that was opened by dlopen has its run-time in a scope of its own, where RTLD_NEXT does not look. */
static void *find_from(const char *name, const void *caller)
{
    Dl_info info;
    if (caller == NULL || dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    void *object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == NULL)
        return NULL;
    void *found = dlsym(object, name);
    dlclose(object);
    return found;
}

/* Code that no file holds calls a run-time all the same: whichever there is. */
static void *find_anywhere(const char *name)
{
    static const char *const files[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
    void *found = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files && found == NULL; i++) {
        void *object = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);
        if (object == NULL)
            continue;
        found = dlsym(object, name);
        dlclose(object);
    }
    return found;
}

void *openmp_real(void **slot, const char *name, const void *caller)
{
    void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (found != NULL)
        return found;
    found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        found = find_from(name, caller);
    if (found == NULL)
        found = find_anywhere(name);
    __atomic_store_n(slot, found, __ATOMIC_RELAXED);
    return found;
}

static int ask(void **slot, const char *name, const void *caller)
{
    int (*function)(void) = (int (*)(void))openmp_real(slot, name, caller);
    return function != NULL ? function() : 0;
}

int openmp_max_threads(const void *caller)
{
    static void *slot;
    return ask(&slot, "omp_get_max_threads", caller);
}

int openmp_level(const void *caller)
{
    static void *slot;
    return ask(&slot, "omp_get_level", caller);
}

void openmp_set_num_threads(int threads, const void *caller)
{
    static void *slot;
    void (*function)(int) = (void (*)(int))openmp_real(&slot, "omp_set_num_threads", caller);
    if (function != NULL)
        function(threads);
}
