/* The functions that OpenCL's loader calls in a library named by OPENCL_LAYERS, when the program first calls OpenCL.
 *
 * Thread safety: the loader calls them once in a process, by one thread; a program that loads a second loader has its
 * second table passed on unchanged. They call libc.
 *
 * Nothing is read when the process ends: the driver may have ended before. Commands for which the program has not
 * waited, and whose queues it has not released, count as missing. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "next.h"
#include "opencl_layer.h"

static const char name[] = "incprof";
static void *table[MOST_FUNCTIONS];

EXPORT cl_int clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *actual)
{
    const cl_uint version = LAYER_API_VERSION_100;
    if (what == LAYER_API_VERSION)
        return put_info(&version, sizeof version, size, value, actual);
    return what == LAYER_NAME ? put_info(name, sizeof name, size, value, actual) : OPENCL_INVALID_VALUE;
}

/* Keep the loader, whose functions this layer calls, until the process ends. */
static void keep_loaded(const void *function)
{
    Dl_info about;
    if (dladdr(function, &about) != 0 && about.dli_fname != NULL)
        dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

EXPORT cl_int clInitLayer(cl_uint count, void *const *below, cl_uint *own_count, void *const **own)
{
    static int is_called;
    *own = below;
    *own_count = count;
    if (count < LEAST_FUNCTIONS || __atomic_exchange_n(&is_called, 1, __ATOMIC_RELAXED) != 0)
        return OPENCL_OK;
    opencl_functions = below;
    if (!gpu_start("libincprof_opencl", GPU_OPENCL))
        return OPENCL_OK;
    keep_loaded(below[AT_clFinish]);
    size_t used = count < MOST_FUNCTIONS ? count : MOST_FUNCTIONS;
    memcpy(table, below, used * sizeof *table);
    work_calls_put(table, used);
    queue_calls_put(table, used);
    *own = table;
    *own_count = (cl_uint)used;
    return OPENCL_OK;
}
