/* The parts of the OpenCL layer (gpu/opencl/).
 *
 * Threads of the program call all of this, several at once, where libc works; nothing is called in signal context or in
 * a vfork child. The driver is never called under gpu_lock. In a process that is not recorded, and in a forked child,
 * the layer passes calls on, and takes no lock. */
#ifndef GPU_OPENCL_LAYER_H
#define GPU_OPENCL_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu.h"
#include "opencl.h"

/* queues.c: the functions below this layer: those of another layer, or of the loader. Written once, before any call. */
extern void *const *opencl_functions;
#define NEXT_CL(name) ((type_##name *)opencl_functions[AT_##name])

#define MOST_ASKED 32

/* A command of a queue, from its call until its times are read. */
struct command {
    cl_command_queue handle;
    struct queue *queue; /* NULL: it is unknown */
    cl_event event;
    uint64_t before_ns, after_ns; /* the call */
    struct device_work work;
    bool is_profiled, has_times, has_ended;
};

struct queue {
    cl_command_queue handle;
    uint32_t owners; /* as far as the program's calls show; 0: the driver may give the handle to another queue */
    uint32_t stream; /* in the order of creation */
    uint16_t lane;
    bool is_profiled;
    bool is_hidden; /* profiled by this layer: the program has not asked for it */
    bool is_out_of_order;
    uint16_t asked_count;
    cl_ulong asked[MOST_ASKED]; /* the program's list of properties */
    /* Of the thread that reads commands. */
    bool is_begun, is_complete;
    uint32_t most_running; /* so many more are passed over */
};

/* Queues. Under the lock. */
/* Return a queue, or NULL: it is unknown. */
struct queue *queue_find(cl_command_queue handle);
/* Learn a queue that was created, with the program's list of properties. Takes the lock itself. */
void queue_learn(cl_command_queue handle, cl_device_id device, cl_command_queue_properties properties,
                 const cl_ulong *asked, size_t asked_count, bool is_hidden);
/* Learn a queue that was created by an extension's function. Takes the lock itself. */
void queue_adopt(cl_command_queue handle);

/* commands.c: commands that have not ended, or whose times have not been read. */
/* Keep a command, whose event belongs to this layer then. */
void commands_add(const struct command *command);
/* Return the number of a kernel's name. */
uint32_t commands_name(cl_kernel kernel);
/* Read the times of commands that have ended. `waits`: the program has waited, so another thread that reads is waited
 * for. */
void commands_read(bool waits);
/* Forget the name of a kernel, whose handle may be given to another. */
void commands_forget_kernel(cl_kernel kernel);

/* inboxes.c: commands that are not in the lists of their queues yet. */
#define INBOX_COMMANDS 64u
/* Put a command into the thread's inbox. Returns how many are in there; 0: it was not put. */
uint32_t inboxes_put(const struct command *command);
/* Pass commands to `take`, until it refuses one. Under the lock. */
void inboxes_take(bool (*take)(const struct command *command));

/* Answer a query as OpenCL's functions do. */
static inline cl_int put_info(const void *from, size_t bytes, size_t size, void *value, size_t *actual)
{
    if (value != NULL && size < bytes)
        return OPENCL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, from, bytes);
    if (actual != NULL)
        *actual = bytes;
    return OPENCL_OK;
}

/* work_calls.c, queue_calls.c: put this layer's functions into its table, where there is one below. */
void work_calls_put(void **table, size_t count);
void queue_calls_put(void **table, size_t count);
#define PUT_CL(name, function)                                                                                         \
    do {                                                                                                               \
        type_##name *typed = (function);                                                                               \
        if (AT_##name < count && table[AT_##name] != NULL)                                                             \
            table[AT_##name] = (void *)typed;                                                                          \
    } while (0)

#endif
