/* The function that the CUDA driver calls in a library named by CUDA_INJECTION64_PATH, when a program initialises CUDA:
 * no kernel has run yet. On that thread, once in a process; a program that execs has it called again.
 *
 * A failure costs the program nothing: one line, and CUDA continues as without this library. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "environment.h"
#include "gpu.h"
#include "log.h"

static struct cupti cupti;
static void *subscriber;
static pid_t process;

static enum gpu_state begin(void)
{
    uint32_t version = 0;
    if (!cupti_find(&cupti)) {
        log_warn("GPU activity is not recorded: libcupti was not found", "INCPROF_CUPTI gives its path");
        return GPU_NO_CUPTI;
    }
    if (cupti.get_version(&version) != CUPTI_OK || version < CUPTI_LEAST_VERSION) {
        log_warn("GPU activity is not recorded: libcupti is older than CUDA 11.0", NULL);
        return GPU_OLD_CUPTI;
    }
    gpu_version = version;
    int result = cupti.subscribe(&subscriber, launches_callback, NULL);
    if (result == CUPTI_HAS_OTHER || result == CUPTI_TOO_MANY) {
        log_warn("GPU activity is not recorded: another profiler uses CUPTI", NULL);
        return GPU_OTHER_SUBSCRIBER;
    }
    if (result != CUPTI_OK || !launches_enable(&cupti, subscriber) || !activity_start(&cupti)) {
        if (result == CUPTI_OK)
            cupti.unsubscribe(subscriber);
        log_warn("GPU activity is not recorded: CUPTI refuses", NULL);
        return GPU_REFUSED;
    }
    return GPU_RECORDED;
}

/* Runs before the collector ends, because it is registered later. A forked child has no CUDA. */
static void finish(void)
{
    if (getpid() == process)
        activity_finish();
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    static int is_called;
    if (__atomic_exchange_n(&is_called, 1, __ATOMIC_RELAXED) != 0)
        return 1;
    log_start("libincprof_cuda");
    environment_log_level("INCPROF_LOG");
    /* First: the library takes no records for a process that is not recorded. */
    int number = extension_start(GPU_RECORDED);
    if (number < 0)
        return 1;
    launches_start(number);
    extension_use();
    process = getpid();
    enum gpu_state state = begin();
    extension_set_state(state);
    if (state == GPU_RECORDED)
        atexit(finish);
    return 1;
}
