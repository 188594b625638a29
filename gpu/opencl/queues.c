/* The program's queues, by their handles. A queue whose last owner has released it stays known, because its events may
 * live longer, until its place is needed.
 *
 * Thread safety: under gpu_lock, except where stated. */
#define _GNU_SOURCE
#include "opencl_layer.h"

#define PLACES 1024u
#define MOST_TEXT 256
#define MOST_USED (PLACES / 4 * 3)

void *const *opencl_functions;

static struct queue queues[PLACES];
static uint32_t used, last_stream;
static cl_device_id devices[MOST_DEVICES];

static uint32_t place_of(cl_command_queue handle)
{
    return (uint32_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 40) % PLACES;
}

struct queue *queue_find(cl_command_queue handle)
{
    for (uint32_t at = place_of(handle); queues[at].handle != NULL; at = (at + 1) % PLACES)
        if (queues[at].handle == handle)
            return &queues[at];
    return NULL;
}

/* Return a queue that was created, cleared; NULL: there are too many. */
static struct queue *add(cl_command_queue handle)
{
    struct queue *found = NULL;
    uint32_t at = place_of(handle);
    for (; queues[at].handle != NULL && queues[at].handle != handle; at = (at + 1) % PLACES)
        if (found == NULL && queues[at].owners == 0)
            found = &queues[at];
    if (queues[at].handle == handle)
        found = &queues[at];
    if (found == NULL && used == MOST_USED)
        return NULL;
    if (found == NULL) {
        found = &queues[at];
        used++;
    }
    *found = (struct queue){.handle = handle, .owners = 1, .stream = last_stream++};
    return found;
}

/* Return the number of a device; `is_new`: its name is not known. */
static uint16_t lane_of(cl_device_id device, bool *is_new)
{
    uint16_t lane = 0;
    while (lane < MOST_DEVICES - 1 && devices[lane] != NULL && devices[lane] != device)
        lane++;
    *is_new = devices[lane] == NULL;
    if (*is_new)
        devices[lane] = device;
    return lane;
}

static void learn_name(cl_device_id device, uint16_t lane)
{
    char name[MOST_TEXT] = "";
    if (NEXT_CL(clGetDeviceInfo)(device, OPENCL_DEVICE_NAME, sizeof name - 1, name, NULL) != OPENCL_OK)
        return;
    uint64_t mask = gpu_lock();
    device_name(lane, name);
    gpu_unlock(mask);
}

void queue_learn(cl_command_queue handle, cl_device_id device, cl_command_queue_properties properties,
                 const cl_ulong *asked, size_t asked_count, bool is_hidden)
{
    uint16_t lane = 0;
    bool is_new = false;
    uint64_t mask = gpu_lock();
    struct queue *queue = add(handle);
    if (queue != NULL) {
        lane = queue->lane = lane_of(device, &is_new);
        queue->is_profiled = is_hidden || (properties & QUEUE_PROFILING) != 0;
        queue->is_hidden = is_hidden;
        queue->is_out_of_order = (properties & QUEUE_OUT_OF_ORDER) != 0;
        queue->asked_count = (uint16_t)asked_count;
        for (size_t i = 0; i < asked_count; i++)
            queue->asked[i] = asked[i];
    }
    gpu_unlock(mask);
    if (is_new)
        learn_name(device, lane);
}

void queue_adopt(cl_command_queue handle)
{
    cl_command_queue_properties properties = 0;
    cl_device_id device = NULL;
    NEXT_CL(clGetCommandQueueInfo)(handle, QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    NEXT_CL(clGetCommandQueueInfo)(handle, QUEUE_DEVICE, sizeof device, &device, NULL);
    queue_learn(handle, device, properties, NULL, 0, false);
}
