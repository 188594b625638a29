/* Find libcupti: loaded already, named by INCPROF_CUPTI, beside a loaded libcudart, in CUDA_HOME, or where the loader
 * looks. Called once, on the thread that initialises CUDA; calls the loader, so it is not async-signal-safe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "cupti.h"
#include "environment.h"

#define MOST_PATH 4096

static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
                                    "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so",      NULL};
/* From the directory of libcudart: a toolkit, and the wheels of CUDA 12 and 13. */
static const char *const beside[] = {"", "../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/",
                                     "../../cuda_cupti/lib/", NULL};

static void *open_in(const char *directory, const char *more)
{
    char path[MOST_PATH];
    for (const char *const *name = names; *name != NULL; name++) {
        int length = snprintf(path, sizeof path, "%s/%s%s", directory, more, *name);
        void *handle = length < MOST_PATH ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle != NULL)
            return handle;
    }
    return NULL;
}

static int find_runtime(struct dl_phdr_info *object, size_t size, void *into)
{
    (void)size;
    const char *base = object->dlpi_name != NULL ? strrchr(object->dlpi_name, '/') : NULL;
    if (base == NULL || strncmp(base, "/libcudart", 10) != 0 || base - object->dlpi_name >= MOST_PATH)
        return 0;
    memcpy(into, object->dlpi_name, (size_t)(base - object->dlpi_name));
    return 1;
}

static void *find_beside_runtime(void)
{
    char directory[MOST_PATH] = "";
    if (dl_iterate_phdr(find_runtime, directory) == 0)
        return NULL;
    for (const char *const *more = beside; *more != NULL; more++) {
        void *handle = open_in(directory, *more);
        if (handle != NULL)
            return handle;
    }
    return NULL;
}

static void *find_in_toolkits(void)
{
    const char *const places[] = {environment_text("CUDA_HOME"), environment_text("CUDA_PATH"), "/usr/local/cuda",
                                  "/opt/cuda"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        void *handle = places[i] != NULL ? open_in(places[i], "extras/CUPTI/lib64/") : NULL;
        if (handle != NULL)
            return handle;
    }
    return NULL;
}

static void *open_library(void)
{
    for (const char *const *name = names; *name != NULL; name++) {
        void *handle = dlopen(*name, RTLD_NOW | RTLD_NOLOAD);
        if (handle != NULL)
            return handle;
    }
    const char *named = environment_text("INCPROF_CUPTI");
    if (named != NULL)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *handle = find_beside_runtime();
    for (const char *const *name = names; handle == NULL && *name != NULL; name++)
        handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? handle : find_in_toolkits();
}

bool cupti_find(struct cupti *cupti)
{
    static const char *const functions[] = {"cuptiSubscribe",
                                            "cuptiUnsubscribe",
                                            "cuptiEnableCallback",
                                            "cuptiActivityEnable",
                                            "cuptiActivityRegisterCallbacks",
                                            "cuptiActivityGetNextRecord",
                                            "cuptiActivityFlushAll",
                                            "cuptiGetTimestamp",
                                            "cuptiGetVersion",
                                            "cuptiActivityRegisterTimestampCallback",
                                            "cuptiActivityFlushPeriod",
                                            "cuptiActivityGetNumDroppedRecords"};
    const size_t needed = 9;
    _Static_assert(sizeof *cupti == sizeof functions / sizeof *functions * sizeof(void *), "a name for each function");
    void *library = open_library();
    if (library == NULL)
        return false;
    bool has_all = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i]);
        memcpy((char *)cupti + i * sizeof function, &function, sizeof function);
        has_all &= function != NULL || i >= needed;
    }
    return has_all;
}
