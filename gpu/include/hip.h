/* The parts of the tool of rocprofiler-sdk (gpu/hip/).
 *
 * rocprofiler-sdk calls them on threads of its own and of the program, several at once, where libc works. */
#ifndef GPU_HIP_H
#define GPU_HIP_H

#include "gpu.h"
#include "rocprofiler.h"

/* kernels.c: the names of kernels, by rocprofiler-sdk's numbers for them. */
/* A kernel's code is loaded, or unloaded. */
rocprofiler_callback kernels_callback;
/* Return the name, or NULL. */
const char *kernels_find(uint64_t kernel);

/* agents.c: the numbers of GPUs. */
/* Learn all agents. Once, before the first record. */
void agents_learn(const struct rocprofiler *rocprofiler);
/* Return the GPU's number, or -1: the agent is no GPU, or unknown. */
int agents_find(uint64_t agent);

/* records.c: what buffers hold. */
bool records_start(const struct rocprofiler *rocprofiler, struct rocprofiler_id context, struct rocprofiler_id buffer);
rocprofiler_buffered records_callback;
/* A kernel or copy is about to be enqueued, by the calling thread. */
rocprofiler_requested records_requested;

#endif
