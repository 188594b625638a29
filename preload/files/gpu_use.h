/* Whether a recording that should have GPU activity (INCPROF_GPU) has any, or why it has none: for the closing line and
 * for readers. */
#ifndef INCPROF_GPU_USE_H
#define INCPROF_GPU_USE_H

#include <stdbool.h>

/* Values of `gpu` in an end image. Of a job, the highest of its processes; GPU_IDLE counts as GPU_NOT_LOADED. */
enum gpu_use {
    GPU_NOT_ASKED,
    GPU_NOT_LOADED, /* no library of an interface; or a program that only starts others */
    GPU_NO_DRIVER,  /* CUDA's run-time alone */
    GPU_LEVEL_ZERO,
    GPU_OPENMP,
    GPU_OPENCL,
    GPU_HIP,
    GPU_CUDA, /* a library of this interface, but not ours */
    GPU_IDLE_OPENMP,
    GPU_IDLE, /* ours, which has recorded nothing: a topology library may have listed the devices */
    GPU_RECORDED
};

/* Return this process's use, by the libraries that it has loaded. `has_images`: there are images of kind 13. Collector,
 * under its lock; async-signal-safe. */
enum gpu_use gpu_use_of_process(bool has_images);

/* Return why nothing is recorded, or NULL. Pure. */
const char *gpu_use_reason(enum gpu_use use);

#endif
