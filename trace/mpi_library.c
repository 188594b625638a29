/* Thread safety: `traced` is replaced by compare and swap, and its old targets are never freed; threads that resolve a
 * name write `next` of the wrappers, all the same value. No locks: MPI may be called while the loader holds its own. */
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "log.h"
#include "session.h"
#include "sys.h"

#define ANCHOR "PMPI_Comm_rank" /* defined by every MPI, and not wrapped by other tools */

struct library {
    const void *base;
    void *mpi; /* handles */
    void *code;
    const struct wrappers *wrappers; /* NULL: this MPI is not traced */
};

static struct library *traced;
static struct library gone; /* its replacement when the traced MPI may have been closed */
static bool is_second_mpi_reported;
static uint32_t next_set[2 * FUNCTION_COUNT]; /* number of unloads when it was set */
static void *looked_in;                       /* used by the loading thread */

static const void *base_of(const void *address)
{
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static void *look_up(const char *name)
{
    return dlsym(looked_in, name);
}

/* Open the library at `base` under one of the names of the list (soname=path:...), and return the path of its
 * wrappers. */
static void *open_named(const void *base, char path[PATH_MAX])
{
    char soname[128];
    const char *list = getenv("INCPROF_TRACE_MPI");
    for (const char *at = list, *end; at != NULL; at = *end == ':' ? end + 1 : NULL) {
        end = strchrnul(at, ':');
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (equals == NULL || (size_t)(equals - at) >= sizeof soname || end - equals > PATH_MAX)
            continue;
        memcpy(soname, at, (size_t)(equals - at));
        soname[equals - at] = '\0';
        void *handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL && base_of(dlsym(handle, ANCHOR)) == base) {
            memcpy(path, equals + 1, (size_t)(end - equals - 1));
            path[end - equals - 1] = '\0';
            return handle;
        }
        if (handle != NULL)
            loader_close(handle);
    }
    return NULL;
}

static void load_wrappers(struct library *library, const char *path)
{
    looked_in = library->mpi;
    library->code = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct wrappers *wrappers = library->code != NULL ? dlsym(library->code, TRACE_WRAPPERS) : NULL;
    if (wrappers == NULL)
        log_warn("cannot load the wrappers of this MPI, nothing is traced", dlerror());
    else if (wrappers->abi != TRACE_ABI || wrappers->count != FUNCTION_COUNT || !wrappers->find(look_up))
        log_warn("the wrappers do not fit this MPI, nothing is traced", path);
    else
        library->wrappers = wrappers;
}

static struct library *load(const void *base)
{
    char path[PATH_MAX];
    struct library *library = sys_alloc(sizeof *library);
    if (library == NULL)
        return NULL;
    library->base = base;
    library->mpi = open_named(base, path);
    if (library->mpi != NULL)
        load_wrappers(library, path);
    else
        log_warn(
            "this program's MPI is not supported, nothing is traced: put its mpicc into PATH and see incprof doctor",
            NULL);
    return library;
}

static void report_second_mpi(const void *address)
{
    Dl_info info;
    if (!__atomic_exchange_n(&is_second_mpi_reported, true, __ATOMIC_RELAXED) && dladdr(address, &info) != 0)
        log_warn("a second MPI in this process: its calls are not traced", info.dli_fname);
}

/* Return the wrappers of the MPI visible in a scope, if it is traced. A supported MPI replaces an unsupported one. */
static const struct wrappers *wrappers_of(const struct scope *scope)
{
    const void *anchor = scope_find(scope, ANCHOR);
    const void *base = base_of(anchor);
    struct library *before = __atomic_load_n(&traced, __ATOMIC_ACQUIRE);
    if (base == NULL || (before != NULL && before->base == base))
        return base == NULL ? NULL : before->wrappers;
    if (before == &gone || (before != NULL && before->wrappers != NULL)) {
        report_second_mpi(anchor);
        return NULL;
    }
    struct library *library = load(base);
    if (library == NULL ||
        !__atomic_compare_exchange_n(&traced, &before, library, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return NULL;
    if (library->wrappers != NULL)
        session_open(library->wrappers->mpi, library->wrappers->meeting);
    return library->wrappers;
}

/* Other tools may be in between, and differ between scopes: a scope whose tools differ from the first one's calls its
 * own. */
void *mpi_library_wrap(const struct scope *scope, uint32_t entry, void *real)
{
    const struct wrappers *wrappers = wrappers_of(scope);
    if (wrappers == NULL || wrappers->entry[entry] == NULL)
        return real;
    const void *before = __atomic_load_n(&wrappers->next[entry], __ATOMIC_RELAXED);
    uint32_t now = loader_unloads() + 1;
    if (before != NULL && before != real && next_set[entry] == now)
        return real;
    next_set[entry] = now;
    __atomic_store_n(&wrappers->next[entry], real, __ATOMIC_RELEASE);
    return wrappers->entry[entry];
}

void mpi_library_let_go(void)
{
    const struct library *library = __atomic_exchange_n(&traced, &gone, __ATOMIC_ACQ_REL);
    if (library == NULL || library->wrappers == NULL)
        return;
    loader_close(library->code);
    loader_close(library->mpi);
}
