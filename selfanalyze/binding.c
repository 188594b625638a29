/* Thread safety: `has_warned` is atomic; no other state. */
#define _GNU_SOURCE
#include "openmp.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "functions.h"
#include "log.h"

#define MOST_RUN_TIMES 16

static int has_warned;

/* Return an entry of the object's dynamic section, or 0. The loader has turned offsets into addresses. */
static uint64_t dynamic_entry(const struct object *object, int64_t tag)
{
    for (int i = 0; i < object->count; i++) {
        if (object->segments[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(uintptr_t)(object->base + object->segments[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == tag)
                return entry->d_un.d_val;
    }
    return 0;
}

/* Return whether one of these relocations is bound to the target. */
static bool leads_to(const struct object *object, uint64_t table, uint64_t bytes, const struct object *target)
{
    const ElfW(Rela) *relocation = (const void *)(uintptr_t)(table < object->base ? object->base + table : table);
    for (size_t i = 0; table != 0 && i < bytes / sizeof *relocation; i++) {
        uint64_t bound;
        if (ELF64_R_SYM(relocation[i].r_info) == 0)
            continue;
        memcpy(&bound, (const void *)(uintptr_t)(object->base + relocation[i].r_offset), sizeof bound);
        if (bound >= target->start && bound < target->end)
            return true;
    }
    return false;
}

/* Return whether the loader has bound a name of the object to the library that contains `function`. Names not looked up
 * yet (lazy binding) point into the object itself. */
static bool is_bound_to(const struct object *object, const void *function)
{
    struct object target;
    if (object == NULL || !object_at((uintptr_t)function, &target))
        return false;
    return leads_to(object, dynamic_entry(object, DT_JMPREL), dynamic_entry(object, DT_PLTRELSZ), &target) ||
           leads_to(object, dynamic_entry(object, DT_RELA), dynamic_entry(object, DT_RELASZ), &target);
}

/* Return the definition of a name in a loaded library and its dependencies, except this library's. */
static void *find_in(const char *path, const char *name)
{
    struct object own, other;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    void *definition = dlsym(handle, name);
    closes_nothing(handle);
    bool is_own = definition != NULL && object_at((uintptr_t)binding_find, &own) &&
                  object_at((uintptr_t)definition, &other) && own.start == other.start;
    return is_own ? NULL : definition;
}

/* Return the definition in the object's scope. The program's own scope begins with this library. */
static void *find_in_scope(const char *name, const struct object *object)
{
    return object != NULL && object->path[0] != '\0' ? find_in(object->path, name) : NULL;
}

void *binding_find(const char *name, const struct object *object)
{
    void *next = dlsym(RTLD_NEXT, name);
    void *local = find_in_scope(name, object);
    dlerror();
    if (next == NULL || local == NULL || next == local)
        return next != NULL ? next : local;
    return is_bound_to(object, local) && !is_bound_to(object, next) ? local : next;
}

struct run_times {
    char paths[MOST_RUN_TIMES][512];
    int count;
};

static int add_run_time(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const names[] = {"libgomp", "libomp", "libiomp"};
    struct run_times *all = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *file = slash != NULL ? slash + 1 : info->dlpi_name;
    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0 && strlen(info->dlpi_name) < sizeof *all->paths)
            strcpy(all->paths[all->count++], info->dlpi_name);
    return all->count == MOST_RUN_TIMES;
}

static void warn_of_several(const char *path)
{
    if (__atomic_exchange_n(&has_warned, 1, __ATOMIC_RELAXED) == 0)
        log_warn("this program has several OpenMP run-times, and it is unknown which one code without a file "
                 "belongs to: run it without incprof selfanalyze if its results differ; using",
                 path);
}

void *binding_guess(const char *name, const struct object *object)
{
    struct run_times all = {.count = 0};
    void *first = NULL;
    const char *path = NULL;
    bool several = false;
    dl_iterate_phdr(add_run_time, &all);
    for (int i = 0; i < all.count; i++) {
        void *definition = find_in(all.paths[i], name);
        if (definition != NULL && is_bound_to(object, definition))
            return definition;
        several = several || (first != NULL && definition != NULL && definition != first);
        path = first == NULL ? all.paths[i] : path;
        first = first == NULL ? definition : first;
    }
    dlerror();
    if (several)
        warn_of_several(path);
    return first;
}

bool binding_hold(const void *function)
{
    struct object object;
    bool is_held = false;
    if (object_at((uintptr_t)function, &object)) {
        void *handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        is_held = handle != NULL && closes_nothing(handle) == 0;
    }
    dlerror();
    return is_held;
}
