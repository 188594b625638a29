/* The function that rocprofiler-sdk calls in a library named by ROCP_TOOL_LIBRARIES, when a program initialises ROCm:
 * no kernel has run yet. On that thread, once in a process; a program that execs has it called again. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "next.h"
#include "rocprofiler.h"

#define BUFFER_BYTES ((size_t)1 << 20)

static struct rocprofiler rocprofiler;
static struct rocprofiler_id buffer;

static void flush(bool is_last)
{
    rocprofiler.flush(buffer);
}

static void finalize(void *data)
{
    flush_finish();
}

/* Find the functions in the library that holds an address: rocprofiler-sdk, which may be loaded for itself only. */
static bool find(void *address)
{
    static const char *const names[] = {ROCPROFILER_FUNCTIONS(TABLE_NAME) NULL};
    Dl_info about;
    void *library = dladdr(address, &about) != 0 ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return find_functions(library, names, sizeof names / sizeof *names - 1, &rocprofiler);
}

static bool begin(void)
{
    static const int32_t symbols[] = {CODE_OBJECT_KERNEL};
    struct rocprofiler_id context = {0};
    if (rocprofiler.create_context(&context) != ROCPROFILER_OK ||
        rocprofiler.create_buffer(context, BUFFER_BYTES, BUFFER_BYTES / 4 * 3, POLICY_LOSSLESS, records_callback, NULL,
                                  &buffer) != ROCPROFILER_OK)
        return false;
    return rocprofiler.trace_by_callback(context, CALLBACK_CODE_OBJECT, symbols, 1, kernels_callback, NULL) ==
               ROCPROFILER_OK &&
           records_start(&rocprofiler, context, buffer) && rocprofiler.start(context) == ROCPROFILER_OK;
}

/* rocprofiler-sdk creates contexts and buffers only while it calls this function. */
static int initialize(void (*unused)(void), void *data)
{
    if (!begin()) {
        gpu_refuse(GPU_ROCPROFILER_REFUSED, "rocprofiler-sdk refuses", NULL);
        return -1;
    }
    flush_start(flush);
    return 0;
}

EXPORT struct rocprofiler_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                      void *client)
{
    static int is_called;
    static struct rocprofiler_tool tool = {sizeof tool, initialize, finalize, NULL};
    if (__atomic_exchange_n(&is_called, 1, __ATOMIC_RELAXED) != 0 || !gpu_start("libincprof_hip", GPU_HIP))
        return NULL;
    gpu_version = version;
    if (version >= ROCPROFILER_LEAST_VERSION && find(__builtin_return_address(0)))
        return &tool;
    gpu_refuse(GPU_OLD_ROCPROFILER, "rocprofiler-sdk is older than that of ROCm 6.4", NULL);
    return NULL;
}
