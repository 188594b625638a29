/* The function that the CUDA driver calls in a library named by CUDA_INJECTION64_PATH, when a program initialises CUDA:
 * no kernel has run yet. On that thread, once in a process; a program that execs has it called again. */
#define _GNU_SOURCE
#include "cupti.h"
#include "environment.h"
#include "gpu.h"
#include "next.h"

static struct cupti cupti;
static void *subscriber;

static void begin(void)
{
    if (!cupti_find(&cupti))
        return gpu_refuse(GPU_NO_CUPTI, "libcupti was not found",
                          environment_text("INCPROF_CUPTI") != NULL ? "INCPROF_CUPTI names none that can be loaded"
                                                                    : "INCPROF_CUPTI gives its path");
    if (cupti.get_version(&gpu_version) != CUPTI_OK || gpu_version < CUPTI_LEAST_VERSION)
        return gpu_refuse(GPU_OLD_CUPTI, "libcupti is older than CUDA 11.0", NULL);
    int result = cupti.subscribe(&subscriber, launches_callback, NULL);
    if (result == CUPTI_HAS_OTHER || result == CUPTI_TOO_MANY)
        return gpu_refuse(GPU_OTHER_SUBSCRIBER, "another profiler uses CUPTI", NULL);
    bool is_subscribed = result == CUPTI_OK, has_launches = is_subscribed && launches_enable(&cupti, subscriber);
    if (has_launches && (result = activity_start(&cupti)) == CUPTI_OK)
        return;
    if (is_subscribed)
        cupti.unsubscribe(subscriber);
    const char *reason = NULL;
    if (result == CUPTI_NOT_READY)
        reason = "is it newer than the CUDA driver?";
    else if (result == CUPTI_OK || cupti.result_name == NULL || cupti.result_name(result, &reason) != CUPTI_OK)
        reason = NULL;
    gpu_refuse(GPU_REFUSED, "CUPTI refuses", reason);
}

EXPORT int InitializeInjection(void)
{
    static int is_called;
    /* First: the library takes no records for a process that is not recorded. */
    if (__atomic_exchange_n(&is_called, 1, __ATOMIC_RELAXED) == 0 && gpu_start("libincprof_cuda", GPU_CUDA))
        begin();
    return 1;
}
