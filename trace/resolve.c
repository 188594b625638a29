/* Who may touch what: what is found out by the first call of all is guarded by `once`; a slot is written by whoever
 * calls it first, and several threads write the same. The part of the tracer that knows an MPI is loaded at the first
 * call, when the program's MPI is there: programs that load it late, as Python does, are traced like others. */
#define _GNU_SOURCE
#include "resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "log.h"
#include "session.h"

#define MPI_ERR_OTHER 15 /* or thereabouts: no MPI is there to ask */

enum { AS_MPI, AS_PMPI, AS_FORTRAN, AS_F08, AS_F08TS };

static const char *const names[] = {
#define CALL_(name, ...) #name,
#include "every_call.h"
};
static const char *const lower_names[] = {
#define CALL_(name, lower, ...) #lower,
#include "every_call.h"
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library; /* the MPI, where it was loaded out of the others' sight */
static const struct wrappers *wrappers;

struct known {
    const char *list;    /* soname=path:... */
    char soname[128];    /* of the first that is loaded here */
    char path[PATH_MAX]; /* of its wrappers */
};

/* The piece of the list that begins with the name and "=". */
static bool take_path(struct known *known, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = known->list; at != NULL; at = strchr(at, ':') != NULL ? strchr(at, ':') + 1 : NULL) {
        const char *end = strchrnul(at, ':');
        if (strncmp(at, name, length) != 0 || at[length] != '=' || length >= sizeof known->soname)
            continue;
        size_t rest = (size_t)(end - at) - length - 1;
        if (rest == 0 || rest >= sizeof known->path)
            return false;
        memcpy(known->path, at + length + 1, rest);
        known->path[rest] = '\0';
        strcpy(known->soname, name);
        return true;
    }
    return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    return take_path(context, slash != NULL ? slash + 1 : info->dlpi_name) ? 1 : 0;
}

static void *look_up(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found == NULL && library != NULL ? dlsym(library, name) : found;
}

static void load(void)
{
    static struct known known;
    const char *list = getenv("INCPROF_TRACE_MPI");
    known.list = list != NULL ? list : "";
    if (dl_iterate_phdr(look_at, &known) == 0) {
        log_warn("this program's MPI is not known, nothing is traced: put its mpicc into PATH and see incprof doctor",
                 NULL);
        return;
    }
    library = dlopen(known.soname, RTLD_LAZY | RTLD_NOLOAD);
    void *handle = dlopen(known.path, RTLD_NOW | RTLD_LOCAL);
    const struct wrappers *found = handle != NULL ? dlsym(handle, TRACE_WRAPPERS) : NULL;
    if (found == NULL)
        log_warn("cannot load the wrappers of this MPI, nothing is traced", dlerror());
    else if (found->abi != TRACE_ABI || found->count != FUNCTION_COUNT || !found->find(look_up))
        log_warn("the wrappers do not fit this MPI, nothing is traced", known.path);
    else
        wrappers = found;
    if (wrappers != NULL)
        session_open(wrappers->mpi, wrappers->meeting);
}

/* A program asked whether there is MPI by whether there is the function, and there is none. */
static int no_mpi(void)
{
    return MPI_ERR_OTHER;
}

static void *resolve_c(uint32_t function, int kind)
{
    char name[64] = "P";
    strcpy(name + (kind == AS_PMPI), "MPI_");
    strcat(name, names[function]);
    void *real = look_up(name);
    void *entry = wrappers != NULL ? wrappers->entry[2 * function + (uint32_t)kind] : NULL;
    if (real == NULL)
        return (void *)no_mpi;
    if (entry == NULL)
        return real;
    wrappers->next[2 * function + (uint32_t)kind] = real;
    return entry;
}

static void *resolve_fortran(uint32_t function, int kind)
{
    static const char *const suffixes[] = {"_", "_f08_", "_f08ts_"};
    char name[64] = "mpi_";
    strcat(name, lower_names[function]);
    strcat(name, suffixes[kind - AS_FORTRAN]);
    void *real = look_up(name);
    return real != NULL ? real : (void *)no_mpi;
}

void *trace_resolve(void **slot)
{
    size_t index = (size_t)(slot - &trace_slots[0][0]);
    uint32_t function = (uint32_t)(index / KINDS_OF_SLOTS);
    int kind = (int)(index % KINDS_OF_SLOTS);
    pthread_once(&once, load);
    void *target = kind < AS_FORTRAN ? resolve_c(function, kind) : resolve_fortran(function, kind);
    __atomic_store_n(slot, target, __ATOMIC_RELEASE);
    return target;
}
