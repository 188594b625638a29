/* Thread safety: constants only. */
#include "gpu_use.h"

#include <string.h>

#include "config.h"
#include "launch.h"
#include "modules.h"

static const struct {
    const char *library; /* beginning of its file name */
    const char *ours;    /* that it loads */
    const char *reason;
} interfaces[] = {
    [GPU_NOT_LOADED] = {NULL, NULL, "no library of CUDA, HIP, OpenCL or OpenMP offload was loaded"},
    [GPU_NO_DRIVER] = {"libcudart.so", NULL,
                       "CUDA's run-time was loaded, but not its driver, libcuda.so.1: does this node have a GPU?"},
    [GPU_LEVEL_ZERO] = {"libze_loader.so", NULL, "Level Zero is recorded only as the time in its waiting functions"},
    [GPU_OPENMP] = {"libomptarget.so", "libincprof_openmp.so",
                    "OpenMP's run-time took no tool (is OMP_TOOL disabled?), or another one than that of incprof"},
    [GPU_OPENCL] = {"libOpenCL", "libincprof_opencl.so",
                    "OpenCL was loaded, but not called, or its loader has no layers (see incprof doctor)"},
    [GPU_HIP] = {"libamdhip64.so", "libincprof_hip.so",
                 "HIP was loaded, but not called, or without rocprofiler-sdk (see incprof doctor)"},
    [GPU_CUDA] = {"libcuda.so", "libincprof_cuda.so",
                  "CUDA was loaded, but not initialised, or CUDA_INJECTION64_PATH was changed"},
    [GPU_IDLE_OPENMP] = {NULL, NULL,
                         "no target region of OpenMP ran on a device, or its run-time is older than LLVM 17, or "
                         "LD_LIBRARY_PATH lacks the directory of libomp.so"},
    [GPU_IDLE] = {NULL, NULL, "a GPU interface was initialised, but no kernel, copy or wait ran"},
};

static bool is_loaded(const char *library)
{
    for (size_t id = 0; id < modules_count(); id++)
        if (strncmp(launch_basename(modules_get(id)->path), library, strlen(library)) == 0)
            return true;
    return false;
}

enum gpu_use gpu_use_of_process(bool has_images)
{
    enum gpu_use use = GPU_CUDA;
    if (has_images)
        return GPU_RECORDED;
    /* Launchers load OpenCL to list the devices of a node. */
    if (starter_is(launch_basename(modules_get(0)->path)))
        return GPU_NOT_LOADED;
    while (use > GPU_NOT_LOADED && !is_loaded(interfaces[use].library))
        use--;
    if (interfaces[use].ours == NULL || !is_loaded(interfaces[use].ours))
        return use;
    return use == GPU_OPENMP ? GPU_IDLE_OPENMP : GPU_IDLE;
}

const char *gpu_use_reason(enum gpu_use use)
{
    return use > GPU_NOT_ASKED && use < GPU_RECORDED ? interfaces[use].reason : NULL;
}
