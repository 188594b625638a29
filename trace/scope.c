/* Thread safety: `first_objects` is written before main, all else belongs to the caller. The loader is never called
 * while it iterates over its objects: another thread may hold its other lock. */
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "loaded.h"

#define PAGE_BYTES 4096u

static size_t first_objects; /* number of objects before main */

struct search {
    struct object object;
    char path[PATH_MAX];
};

static void copy(const struct object *object, void *context)
{
    struct search *search = context;
    search->object = *object;
    if (strlen(object->path) < sizeof search->path)
        strcpy(search->path, object->path);
}

static void *open_loaded(const char *path)
{
    return path[0] != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

void scope_enter(struct scope *scope, const void *return_address)
{
    uint64_t address = (uint64_t)(uintptr_t)return_address, page = address & ~(uint64_t)(PAGE_BYTES - 1);
    struct search search = {.object = {.low = page, .high = page + PAGE_BYTES}};
    object_use_at(address, copy, &search);
    *scope = (struct scope){search.object.low, search.object.high - search.object.low, open_loaded(search.path)};
}

void scope_leave(struct scope *scope)
{
    if (scope->object != NULL)
        loader_close(scope->object);
}

/* Return the definition visible through a handle, except this library's. */
static void *find_in(void *object, const char *name)
{
    Dl_info of_found, of_this;
    void *definition = dlsym(object, name);
    bool is_own = definition != NULL && dladdr(definition, &of_found) != 0 &&
                  dladdr(__extension__(void *) scope_find, &of_this) != 0 && of_found.dli_fbase == of_this.dli_fbase;
    return is_own ? NULL : definition;
}

static int count_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size;
    ++*(size_t *)context;
    return 0;
}

static __attribute__((constructor)) void count_first_objects(void)
{
    dl_iterate_phdr(count_one, &first_objects);
}

/* Return whether the object was linked with the program or preloaded: the loader lists these first. */
static bool is_there_from_the_start(const void *address)
{
    struct object object;
    return object_at((uint64_t)(uintptr_t)address, &object) && object.number <= first_objects;
}

/* A library may have been made globally visible (RTLD_GLOBAL) after this object was bound: Open MPI does so with
 * itself. */
void *scope_find(const struct scope *scope, const char *name)
{
    void *definition = dlsym(RTLD_NEXT, name);
    void *own = scope->object != NULL ? find_in(scope->object, name) : NULL;
    if (own != NULL && (definition == NULL || !is_there_from_the_start(definition)))
        definition = own;
    return definition != NULL ? definition : elf_symbol_anywhere(name);
}
