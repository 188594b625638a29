/* Find libcupti: loaded already, named by INCPROF_CUPTI, beside a loaded libcudart, in CUDA_HOME, or where the loader
 * looks. Called once, on the thread that initialises CUDA; calls the loader, so it is not async-signal-safe. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "cupti.h"
#include "environment.h"

#define MOST_PATH 4096
#define FLAGS (RTLD_NOW | RTLD_LOCAL)

static const char *const names[] = {"libcupti.so.13",
                                    "libcupti.so.12",
                                    "libcupti.so.11.8",
                                    "libcupti.so.11.7",
                                    "libcupti.so.11.6",
                                    "libcupti.so.11.5",
                                    "libcupti.so.11.4",
                                    "libcupti.so.11.3",
                                    "libcupti.so.11.2",
                                    "libcupti.so.11.1",
                                    "libcupti.so.11.0",
                                    "libcupti.so",
                                    NULL};
/* From the directory of libcudart: a toolkit, and the wheels of CUDA 12 and 13. */
static const char *const beside[] = {"", "../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/",
                                     "../../cuda_cupti/lib/", NULL};

/* Open one of the names, in a directory or (NULL) where the loader looks. */
static void *open_in(const char *directory, const char *more, int flags)
{
    char path[MOST_PATH];
    void *handle = NULL;
    for (const char *const *name = names; handle == NULL && *name != NULL; name++) {
        int length = directory != NULL ? snprintf(path, sizeof path, "%s/%s%s", directory, more, *name)
                                       : snprintf(path, sizeof path, "%s", *name);
        handle = length < MOST_PATH ? dlopen(path, flags) : NULL;
    }
    return handle;
}

static int find_runtime(struct dl_phdr_info *object, size_t size, void *into)
{
    const char *base = object->dlpi_name != NULL ? strrchr(object->dlpi_name, '/') : NULL;
    if (base == NULL || strncmp(base, "/libcudart", 10) != 0 || base - object->dlpi_name >= MOST_PATH)
        return 0;
    memcpy(into, object->dlpi_name, (size_t)(base - object->dlpi_name));
    return 1;
}

static void *open_library(void)
{
    static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH", "/usr/local/cuda", "/opt/cuda"};
    char directory[MOST_PATH] = "";
    const char *named = environment_text("INCPROF_CUPTI");
    void *handle = open_in(NULL, "", RTLD_NOW | RTLD_NOLOAD);
    if (handle != NULL || named != NULL)
        return handle != NULL ? handle : dlopen(named, FLAGS);
    bool has_runtime = dl_iterate_phdr(find_runtime, directory) != 0;
    for (const char *const *more = beside; has_runtime && handle == NULL && *more != NULL; more++)
        handle = open_in(directory, *more, FLAGS);
    if (handle == NULL)
        handle = open_in(NULL, "", FLAGS);
    for (size_t i = 0; handle == NULL && i < sizeof toolkits / sizeof *toolkits; i++) {
        const char *toolkit = *toolkits[i] == '/' ? toolkits[i] : environment_text(toolkits[i]);
        handle = toolkit != NULL ? open_in(toolkit, "extras/CUPTI/lib64/", FLAGS) : NULL;
    }
    return handle;
}

bool cupti_find(struct cupti *cupti)
{
    static const char *const functions[] = {CUPTI_FUNCTIONS(TABLE_NAME) NULL};
    return find_functions(open_library(), functions, CUPTI_NEEDED, cupti);
}
