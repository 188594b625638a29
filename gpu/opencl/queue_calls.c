/* Calls on queues. Queues are profiled by the driver, also those for which the program has not asked; what the program
 * reads of them and of their events is as if they were not.
 *
 * Thread safety: threads of the program, several at once. */
#define _GNU_SOURCE
#include "opencl_layer.h"

#define END_OF_PROPERTIES 0

static bool is_left_alone(cl_command_queue_properties properties)
{
    return !gpu_is_recording() || (properties & (QUEUE_PROFILING | QUEUE_ON_DEVICE)) != 0;
}

static cl_command_queue create_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                     cl_int *error)
{
    type_clCreateCommandQueue *next = NEXT_CL(clCreateCommandQueue);
    cl_command_queue queue = NULL;
    bool is_hidden = !is_left_alone(properties);
    if (is_hidden)
        queue = next(context, device, properties | QUEUE_PROFILING, error);
    is_hidden = queue != NULL;
    if (queue == NULL)
        queue = next(context, device, properties, error);
    if (queue != NULL && gpu_is_recording())
        queue_learn(queue, device, properties, NULL, 0, is_hidden);
    return queue;
}

/* Copy a list of properties, with profiling. Returns the length of the program's list with its end, or 0: it is too
 * long. */
static size_t with_profiling(cl_ulong list[MOST_ASKED + 2], const cl_ulong *asked, cl_command_queue_properties *flags)
{
    size_t count = 0;
    bool has_flags = false;
    *flags = 0;
    for (; asked[count] != END_OF_PROPERTIES; count += 2) {
        if (count + 3 > MOST_ASKED)
            return 0;
        list[count] = asked[count];
        list[count + 1] = asked[count + 1];
        if (asked[count] == QUEUE_PROPERTIES) {
            *flags = asked[count + 1];
            list[count + 1] |= QUEUE_PROFILING;
            has_flags = true;
        }
    }
    size_t end = count;
    if (!has_flags) {
        list[end++] = QUEUE_PROPERTIES;
        list[end++] = QUEUE_PROFILING;
    }
    list[end] = END_OF_PROPERTIES;
    return count + 1;
}

static cl_command_queue create_queue_with_properties(cl_context context, cl_device_id device,
                                                     const cl_ulong *properties, cl_int *error)
{
    static const cl_ulong nothing[] = {END_OF_PROPERTIES};
    type_clCreateCommandQueueWithProperties *next = NEXT_CL(clCreateCommandQueueWithProperties);
    cl_ulong list[MOST_ASKED + 2];
    cl_command_queue_properties flags = 0;
    cl_command_queue queue = NULL;
    size_t count = with_profiling(list, properties != NULL ? properties : nothing, &flags);
    if (count > 0 && !is_left_alone(flags))
        queue = next(context, device, list, error);
    bool is_hidden = queue != NULL;
    if (queue == NULL)
        queue = next(context, device, properties, error);
    if (queue != NULL && count > 0 && gpu_is_recording() && (flags & QUEUE_ON_DEVICE) == 0)
        queue_learn(queue, device, flags, properties, properties != NULL ? count : 0, is_hidden);
    return queue;
}

/* Add owners to a queue. */
static void own(cl_command_queue handle, int more)
{
    uint64_t mask = gpu_lock();
    struct queue *queue = queue_find(handle);
    if (queue != NULL && (more > 0 || queue->owners > 0))
        queue->owners += (uint32_t)more;
    gpu_unlock(mask);
}

static cl_int retain_queue(cl_command_queue queue)
{
    cl_int result = NEXT_CL(clRetainCommandQueue)(queue);
    if (result == OPENCL_OK && gpu_is_recording())
        own(queue, 1);
    return result;
}

static cl_int release_queue(cl_command_queue queue)
{
    if (gpu_is_recording()) {
        commands_read(true);
        own(queue, -1);
    }
    return NEXT_CL(clReleaseCommandQueue)(queue);
}

static cl_int release_context(cl_context context)
{
    if (gpu_is_recording())
        commands_read(true);
    return NEXT_CL(clReleaseContext)(context);
}

static cl_int release_kernel(cl_kernel kernel)
{
    if (gpu_is_recording())
        commands_forget_kernel(kernel);
    return NEXT_CL(clReleaseKernel)(kernel);
}

/* Copy a queue; false: the program sees it as it is. A forked child has no other thread, and no lock held. */
static bool find_hidden(cl_command_queue handle, struct queue *copy)
{
    uint64_t mask = gpu_lock();
    const struct queue *queue = queue_find(handle);
    if (queue != NULL)
        *copy = *queue;
    gpu_unlock(mask);
    return queue != NULL && copy->is_hidden;
}

static cl_int get_queue_info(cl_command_queue queue, cl_uint name, size_t size, void *value, size_t *actual)
{
    struct queue copy;
    cl_int result = NEXT_CL(clGetCommandQueueInfo)(queue, name, size, value, actual);
    if ((name != QUEUE_PROPERTIES && name != QUEUE_PROPERTIES_ARRAY) || !find_hidden(queue, &copy))
        return result;
    if (name == QUEUE_PROPERTIES) {
        if (result == OPENCL_OK && value != NULL)
            *(cl_command_queue_properties *)value &= ~(cl_command_queue_properties)QUEUE_PROFILING;
        return result;
    }
    /* The list with profiling may not fit where the program's does. */
    size_t bytes = copy.asked_count * sizeof *copy.asked;
    if (result != OPENCL_OK && NEXT_CL(clGetCommandQueueInfo)(queue, name, 0, NULL, NULL) != OPENCL_OK)
        return result;
    return put_info(copy.asked, bytes, size, value, actual);
}

static cl_int set_queue_property(cl_command_queue handle, cl_command_queue_properties properties, cl_bool enable,
                                 cl_command_queue_properties *old)
{
    if (gpu_is_recording())
        commands_read(true);
    cl_int result = NEXT_CL(clSetCommandQueueProperty)(handle, properties, enable, old);
    if (result != OPENCL_OK)
        return result;
    uint64_t mask = gpu_lock();
    struct queue *queue = queue_find(handle);
    if (queue != NULL && queue->is_hidden && old != NULL)
        *old &= ~(cl_command_queue_properties)QUEUE_PROFILING;
    if (queue != NULL && (properties & QUEUE_PROFILING) != 0) {
        queue->is_profiled = enable != 0;
        queue->is_hidden = false;
    }
    if (queue != NULL && (properties & QUEUE_OUT_OF_ORDER) != 0)
        queue->is_out_of_order |= enable != 0; /* older commands were */
    gpu_unlock(mask);
    return result;
}

static cl_int get_event_profiling_info(cl_event event, cl_uint name, size_t size, void *value, size_t *actual)
{
    struct queue copy;
    cl_command_queue queue = NULL;
    cl_int result = NEXT_CL(clGetEventInfo)(event, EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (result == OPENCL_OK && queue != NULL && find_hidden(queue, &copy))
        return OPENCL_NOT_PROFILED;
    return NEXT_CL(clGetEventProfilingInfo)(event, name, size, value, actual);
}

void queue_calls_put(void **table, size_t count)
{
    PUT_CL(clReleaseContext, release_context);
    PUT_CL(clCreateCommandQueue, create_queue);
    PUT_CL(clCreateCommandQueueWithProperties, create_queue_with_properties);
    PUT_CL(clRetainCommandQueue, retain_queue);
    PUT_CL(clReleaseCommandQueue, release_queue);
    PUT_CL(clGetCommandQueueInfo, get_queue_info);
    PUT_CL(clSetCommandQueueProperty, set_queue_property);
    PUT_CL(clReleaseKernel, release_kernel);
    PUT_CL(clGetEventProfilingInfo, get_event_profiling_info);
}
