/* OpenMP's target regions by OMPT, in a library named by OMP_TOOL_LIBRARIES: kernels and copies of devices whose work
 * begins and ends within the callbacks around it, as that of LLVM's host offload. CUDA's and HIP's devices, where it
 * only is submitted there, are left to their own libraries.
 *
 * Thread safety: a callback runs on the thread that submits the work, where libc works. `devices` is atomic. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "fixed_text.h"
#include "gpu.h"
#include "next.h"
#include "sys.h"

#define MOST_REGIONS 256u
#define WAIT_REGION 5 /* as OpenCL's calls that block */

/* The part of OMPT that is used here (OpenMP 5.1). */
enum { EVENT_DEVICE = 12, EVENT_TARGET = 33, EVENT_COPY = 34, EVENT_KERNEL = 35, ALWAYS = 5 };
enum { BEGINS = 1, ENDS = 2 };
enum { IS_UNNAMED = 1, IS_NAMED };
enum { TO_DEVICE = 2, FROM_DEVICE = 3, ASYNC = 16, COPY_TO_DEVICE = 1, COPY_FROM_DEVICE = 2 };
typedef void callback(void);
typedef int set_callback(int event, callback *function);
struct tool {
    int (*initialize)(callback *(*find)(const char *name), int device, void *data);
    void (*finalize)(void *data);
    uint64_t data;
};

static uint8_t devices[MOST_DEVICES];     /* whether it is recorded; the last one stands for all others */
static const void *regions[MOST_REGIONS]; /* return addresses of their calls; under the lock */
static uint32_t region_count;

/* What the thread is doing. */
static __thread struct {
    const void *code;
    uint64_t start_ns;
    uint32_t correlation;
    int device;
} now;

/* Return the number of the name of the region at a return address; OpenMP gives it no name. Under the lock. */
static uint32_t region_name(const void *code)
{
    char name[32] = "target_region";
    uint32_t number = 0;
    while (number < region_count && regions[number] != code)
        number++;
    if (number == region_count && number < MOST_REGIONS)
        regions[region_count++] = code;
    if (number < region_count) {
        text_append(name, sizeof name, "_");
        text_append_number(name, sizeof name, number + 1, 1);
    }
    return kernel_name(name);
}

static void note(int endpoint, int device, enum sum_kind kind, uint32_t what, uint64_t bytes)
{
    if (!gpu_is_recording() || device < 0 ||
        __atomic_load_n(&devices[device_lane((uint32_t)device)], __ATOMIC_RELAXED) == 0)
        return;
    bool is_kernel = kind == SUM_KERNEL;
    if (endpoint == BEGINS) {
        now.correlation = launches_count(is_kernel);
        now.start_ns = monotonic_ns();
        return;
    }
    if (endpoint != ENDS || now.start_ns == 0)
        return;
    struct device_work work = {.start_ns = now.start_ns,
                               .end_ns = monotonic_ns(),
                               .bytes = bytes,
                               .correlation = now.correlation,
                               .device = device_lane((uint32_t)device),
                               .kind = (uint16_t)kind};
    now.start_ns = 0;
    gpu_count(&gpu_totals.kernels, is_kernel);
    uint64_t mask = gpu_lock();
    if (__atomic_exchange_n(&devices[work.device], IS_NAMED, __ATOMIC_RELAXED) == IS_UNNAMED)
        device_name(work.device, "host, as a device of OpenMP");
    work.what = is_kernel ? region_name(now.code) : what;
    launches_add(&work);
    launches_add_wait(WAIT_REGION, OTHER_STREAMS, work.start_ns, work.end_ns);
    gpu_unlock(mask);
    trace_report();
}

static void on_device(int device, const char *type)
{
    if (device >= 0 && type != NULL && strncmp(type, "generic", 7) == 0)
        __atomic_store_n(&devices[device_lane((uint32_t)device)], IS_UNNAMED, __ATOMIC_RELAXED);
}

static void on_target(int kind, int endpoint, int device, void *task, void *target_task, void *target, const void *code)
{
    if (endpoint == BEGINS) {
        now.code = code;
        now.device = device;
    }
}

static void on_kernel(int endpoint, void *target, uint64_t *id, unsigned teams)
{
    note(endpoint, now.device, SUM_KERNEL, 0, 0);
}

static void on_copy(int endpoint, void *task, void *target, uint64_t *id, int kind, void *from, int from_device,
                    void *to, int to_device, size_t bytes, const void *code)
{
    kind &= ~ASYNC;
    if (kind == TO_DEVICE)
        note(endpoint, to_device, SUM_COPY, COPY_TO_DEVICE, bytes);
    else if (kind == FROM_DEVICE)
        note(endpoint, from_device, SUM_COPY, COPY_FROM_DEVICE, bytes);
}

static int initialize(callback *(*find)(const char *name), int device, void *data)
{
    set_callback *set = (set_callback *)find("ompt_set_callback");
    return set != NULL && set(EVENT_DEVICE, (callback *)on_device) == ALWAYS &&
           set(EVENT_TARGET, (callback *)on_target) == ALWAYS && set(EVENT_COPY, (callback *)on_copy) == ALWAYS &&
           set(EVENT_KERNEL, (callback *)on_kernel) == ALWAYS;
}

static void finalize(void *data) {}

/* Called by OpenMP's run-time when it starts. A program without target regions runs as without a tool. */
EXPORT struct tool *ompt_start_tool(unsigned version, const char *name)
{
    static struct tool tool = {initialize, finalize, 0};
    bool has_regions = dlsym(RTLD_DEFAULT, "ompt_libomptarget_connect") != NULL;
    return has_regions && gpu_start("libincprof_openmp", GPU_OPENMP) ? &tool : NULL;
}
