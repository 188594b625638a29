/* Calls that enqueue work, and calls that wait.
 *
 * Thread safety: threads of the program, several at once. errno is kept. A call costs a process that is not recorded
 * one test. */
#define _GNU_SOURCE
#include <errno.h>

#include "opencl_layer.h"
#include "sys.h"

/* Kinds of copies, by CUPTI's numbers; maps, which copy where device and host have different memory, have their own. */
enum { COPY_FILL = 0, COPY_TO_DEVICE = 1, COPY_TO_HOST = 2, COPY_ON_DEVICE = 8, COPY_MAP = 64, COPY_UNMAP = 65 };
/* Types of waits: the first two by CUPTI's numbers. */
enum { WAIT_EVENTS = 1, WAIT_QUEUE = 3, WAIT_BLOCKING = 5 };

struct call {
    uint64_t before_ns;
    cl_event own;
    cl_event *event; /* for the driver */
    cl_event *programs;
    bool is_recorded;
};

struct work {
    cl_kernel kernel; /* NULL: a copy, or a function of the program */
    struct device_work of;
};

static void begin(struct call *call, cl_event *event)
{
    call->is_recorded = gpu_is_recording();
    call->programs = call->event = event;
    if (!call->is_recorded)
        return;
    call->own = NULL;
    if (event == NULL)
        call->event = &call->own;
    call->before_ns = monotonic_ns();
}

/* `handle`: the queue that is waited for, or NULL. */
static void add_wait(uint32_t type, cl_command_queue handle, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t mask = gpu_lock();
    const struct queue *queue = handle != NULL ? queue_find(handle) : NULL;
    launches_add_wait(type, queue != NULL ? queue->stream : OTHER_STREAMS, start_ns, end_ns);
    gpu_unlock(mask);
}

static void add_work(const struct call *call, cl_command_queue queue, struct work work, uint64_t after_ns)
{
    cl_event event = *call->event;
    work.of.correlation = launches_count(work.of.kind == SUM_KERNEL);
    if (event == NULL || (call->programs != NULL && NEXT_CL(clRetainEvent)(event) != OPENCL_OK))
        return;
    if (work.kernel != NULL)
        work.of.what = commands_name(work.kernel);
    commands_add(&(struct command){
        .handle = queue, .event = event, .before_ns = call->before_ns, .after_ns = after_ns, .work = work.of});
}

static cl_int end(const struct call *call, cl_command_queue queue, struct work work, cl_bool blocks, cl_int result)
{
    if (!call->is_recorded || result != OPENCL_OK)
        return result;
    int saved = errno;
    uint64_t after_ns = monotonic_ns();
    add_work(call, queue, work, after_ns);
    if (blocks) {
        add_wait(WAIT_BLOCKING, queue, call->before_ns, after_ns);
        commands_read(true);
    }
    errno = saved;
    return result;
}

static struct work copy(uint32_t direction, uint64_t bytes)
{
    return (struct work){.of = {.what = direction, .bytes = bytes, .kind = SUM_COPY}};
}

static struct work launch(cl_kernel kernel)
{
    return (struct work){.kernel = kernel, .of = {.kind = SUM_KERNEL}};
}

static uint64_t volume(const size_t *region)
{
    return region != NULL ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
    size_t element = 0;
    return NEXT_CL(clGetImageInfo)(image, IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) == OPENCL_OK
               ? element * volume(region)
               : 0;
}

#define WRAP(place, result, name, parameters, arguments, work, blocks)                                                 \
    static cl_int wrap_##name parameters                                                                               \
    {                                                                                                                  \
        struct call call;                                                                                              \
        begin(&call, event);                                                                                           \
        cl_int status = NEXT_CL(name)(UNPACK arguments, waits, wait_list, call.event);                                 \
        return end(&call, queue, work, blocks, status);                                                                \
    }
#define UNPACK(...) __VA_ARGS__
/* In the process that is not recorded, `image_bytes` is not called: `end` is not reached with its result. */
#define OF_IMAGE(image, region) (call.is_recorded ? image_bytes(image, region) : 0)
OPENCL_COMMANDS(WRAP)

static void *map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, cl_map_flags flags, size_t offset,
                        size_t size, EVENTS, cl_int *error)
{
    struct call call;
    cl_int result = OPENCL_OK;
    begin(&call, event);
    void *at =
        NEXT_CL(clEnqueueMapBuffer)(queue, buffer, blocks, flags, offset, size, waits, wait_list, call.event, &result);
    end(&call, queue, copy(COPY_MAP, (flags & MAP_INVALIDATES) != 0 ? 0 : size), blocks, result);
    if (error != NULL)
        *error = result;
    return at;
}

static void *map_image(cl_command_queue queue, cl_mem image, cl_bool blocks, cl_map_flags flags, const size_t *origin,
                       const size_t *region, size_t *row_pitch, size_t *slice_pitch, EVENTS, cl_int *error)
{
    struct call call;
    cl_int result = OPENCL_OK;
    begin(&call, event);
    void *at = NEXT_CL(clEnqueueMapImage)(queue, image, blocks, flags, origin, region, row_pitch, slice_pitch, waits,
                                          wait_list, call.event, &result);
    bool copies = call.is_recorded && result == OPENCL_OK && (flags & MAP_INVALIDATES) == 0;
    end(&call, queue, copy(COPY_MAP, copies ? image_bytes(image, region) : 0), blocks, result);
    if (error != NULL)
        *error = result;
    return at;
}

static cl_int waited(uint64_t before_ns, uint32_t type, cl_command_queue queue, cl_int result)
{
    if (before_ns == 0)
        return result;
    int saved = errno;
    add_wait(type, queue, before_ns, monotonic_ns());
    commands_read(true);
    errno = saved;
    return result;
}

static cl_int wait_for_events(cl_uint count, const cl_event *events)
{
    uint64_t before_ns = gpu_is_recording() ? monotonic_ns() : 0;
    return waited(before_ns, WAIT_EVENTS, NULL, NEXT_CL(clWaitForEvents)(count, events));
}

static cl_int finish(cl_command_queue queue)
{
    uint64_t before_ns = gpu_is_recording() ? monotonic_ns() : 0;
    return waited(before_ns, WAIT_QUEUE, queue, NEXT_CL(clFinish)(queue));
}

#define PUT_WRAPPER(place, result, name, ...) PUT_CL(name, wrap_##name);

void work_calls_put(void **table, size_t count)
{
    OPENCL_COMMANDS(PUT_WRAPPER)
    PUT_CL(clEnqueueMapBuffer, map_buffer);
    PUT_CL(clEnqueueMapImage, map_image);
    PUT_CL(clWaitForEvents, wait_for_events);
    PUT_CL(clFinish, finish);
}
