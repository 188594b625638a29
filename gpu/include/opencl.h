/* The part of OpenCL's binary interface that is used here, declared from the Khronos specification, so that the library
 * builds without OpenCL. tests/integration/gpu/test_opencl_headers.py compiles it together with Khronos' headers, which
 * compares types, values and places. */
#ifndef GPU_OPENCL_H
#define GPU_OPENCL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef cl_bitfield cl_command_queue_properties;
typedef cl_bitfield cl_map_flags;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

enum {
    OPENCL_OK = 0,
    OPENCL_NOT_PROFILED = -7, /* CL_PROFILING_INFO_NOT_AVAILABLE */
    OPENCL_INVALID_VALUE = -30,
    OPENCL_COMPLETE = 0, /* CL_COMPLETE; a command that failed has a negative status */
    QUEUE_OUT_OF_ORDER = 1 << 0,
    QUEUE_PROFILING = 1 << 1,
    QUEUE_ON_DEVICE = 1 << 2,
    MAP_INVALIDATES = 1 << 2, /* CL_MAP_WRITE_INVALIDATE_REGION */
    OPENCL_DEVICE_NAME = 0x102b,
    QUEUE_DEVICE = 0x1091,
    QUEUE_PROPERTIES = 0x1093,
    QUEUE_PROPERTIES_ARRAY = 0x1098,
    IMAGE_ELEMENT_SIZE = 0x1111,
    KERNEL_FUNCTION_NAME = 0x1190,
    EVENT_COMMAND_QUEUE = 0x11d0,
    EVENT_STATUS = 0x11d3,
    PROFILING_QUEUED = 0x1280,
    PROFILING_START = 0x1282,
    PROFILING_END = 0x1283,
    LAYER_API_VERSION = 0x4240,
    LAYER_NAME = 0x4241,
    LAYER_API_VERSION_100 = 100
};

/* The end of the parameters of a function that enqueues a command. */
#define EVENTS cl_uint waits, const cl_event *wait_list, cl_event *event

/* Functions of the dispatch table that loaders, layers and drivers share: place, result, name, parameters. */
#define OPENCL_CALLS(F)                                                                                                \
    F(3, cl_int, clGetDeviceInfo, (cl_device_id device, cl_uint name, size_t size, void *value, size_t *actual))       \
    F(7, cl_int, clReleaseContext, (cl_context context))                                                               \
    F(9, cl_command_queue, clCreateCommandQueue,                                                                       \
      (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int * error))               \
    F(10, cl_int, clRetainCommandQueue, (cl_command_queue queue))                                                      \
    F(11, cl_int, clReleaseCommandQueue, (cl_command_queue queue))                                                     \
    F(12, cl_int, clGetCommandQueueInfo,                                                                               \
      (cl_command_queue queue, cl_uint name, size_t size, void *value, size_t *actual))                                \
    F(13, cl_int, clSetCommandQueueProperty,                                                                           \
      (cl_command_queue queue, cl_command_queue_properties properties, cl_bool enable,                                 \
       cl_command_queue_properties * old))                                                                             \
    F(21, cl_int, clGetImageInfo, (cl_mem image, cl_uint name, size_t size, void *value, size_t *actual))              \
    F(37, cl_int, clReleaseKernel, (cl_kernel kernel))                                                                 \
    F(39, cl_int, clGetKernelInfo, (cl_kernel kernel, cl_uint name, size_t size, void *value, size_t *actual))         \
    F(41, cl_int, clWaitForEvents, (cl_uint count, const cl_event *events))                                            \
    F(42, cl_int, clGetEventInfo, (cl_event event, cl_uint name, size_t size, void *value, size_t *actual))            \
    F(43, cl_int, clRetainEvent, (cl_event event))                                                                     \
    F(44, cl_int, clReleaseEvent, (cl_event event))                                                                    \
    F(45, cl_int, clGetEventProfilingInfo, (cl_event event, cl_uint name, size_t size, void *value, size_t *actual))   \
    F(47, cl_int, clFinish, (cl_command_queue queue))                                                                  \
    F(56, void *, clEnqueueMapBuffer,                                                                                  \
      (cl_command_queue queue, cl_mem buffer, cl_bool blocks, cl_map_flags flags, size_t offset, size_t size, EVENTS,  \
       cl_int *error))                                                                                                 \
    F(57, void *, clEnqueueMapImage,                                                                                   \
      (cl_command_queue queue, cl_mem image, cl_bool blocks, cl_map_flags flags, const size_t *origin,                 \
       const size_t *region, size_t *row_pitch, size_t *slice_pitch, EVENTS, cl_int *error))                           \
    F(123, cl_command_queue, clCreateCommandQueueWithProperties,                                                       \
      (cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *error))
/* Those that enqueue a command have more columns, for work_calls.c: what they pass on before the event, the work, and
 * whether the program waits. */
#define OPENCL_COMMANDS(F)                                                                                             \
    F(48, cl_int, clEnqueueReadBuffer,                                                                                 \
      (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t size, void *to, EVENTS),           \
      (queue, buffer, blocks, offset, size, to), copy(COPY_TO_HOST, size), blocks)                                     \
    F(49, cl_int, clEnqueueWriteBuffer,                                                                                \
      (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t size, const void *from, EVENTS),   \
      (queue, buffer, blocks, offset, size, from), copy(COPY_TO_DEVICE, size), blocks)                                 \
    F(50, cl_int, clEnqueueCopyBuffer,                                                                                 \
      (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, EVENTS),     \
      (queue, from, to, from_offset, to_offset, size), copy(COPY_ON_DEVICE, size), 0)                                  \
    F(51, cl_int, clEnqueueReadImage,                                                                                  \
      (cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin, const size_t *region,               \
       size_t row_pitch, size_t slice_pitch, void *to, EVENTS),                                                        \
      (queue, image, blocks, origin, region, row_pitch, slice_pitch, to), copy(COPY_TO_HOST, OF_IMAGE(image, region)), \
      blocks)                                                                                                          \
    F(52, cl_int, clEnqueueWriteImage,                                                                                 \
      (cl_command_queue queue, cl_mem image, cl_bool blocks, const size_t *origin, const size_t *region,               \
       size_t row_pitch, size_t slice_pitch, const void *from, EVENTS),                                                \
      (queue, image, blocks, origin, region, row_pitch, slice_pitch, from),                                            \
      copy(COPY_TO_DEVICE, OF_IMAGE(image, region)), blocks)                                                           \
    F(53, cl_int, clEnqueueCopyImage,                                                                                  \
      (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,             \
       const size_t *region, EVENTS),                                                                                  \
      (queue, from, to, from_origin, to_origin, region), copy(COPY_ON_DEVICE, OF_IMAGE(from, region)), 0)              \
    F(54, cl_int, clEnqueueCopyImageToBuffer,                                                                          \
      (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset,      \
       EVENTS),                                                                                                        \
      (queue, from, to, origin, region, offset), copy(COPY_ON_DEVICE, OF_IMAGE(from, region)), 0)                      \
    F(55, cl_int, clEnqueueCopyBufferToImage,                                                                          \
      (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region,      \
       EVENTS),                                                                                                        \
      (queue, from, to, offset, origin, region), copy(COPY_ON_DEVICE, OF_IMAGE(to, region)), 0)                        \
    F(58, cl_int, clEnqueueUnmapMemObject, (cl_command_queue queue, cl_mem object, void *mapped, EVENTS),              \
      (queue, object, mapped), copy(COPY_UNMAP, 0), 0)                                                                 \
    F(59, cl_int, clEnqueueNDRangeKernel,                                                                              \
      (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,       \
       const size_t *local, EVENTS),                                                                                   \
      (queue, kernel, dimensions, offset, global, local), launch(kernel), 0)                                           \
    F(60, cl_int, clEnqueueTask, (cl_command_queue queue, cl_kernel kernel, EVENTS), (queue, kernel), launch(kernel),  \
      0)                                                                                                               \
    F(61, cl_int, clEnqueueNativeKernel,                                                                               \
      (cl_command_queue queue, void (*function)(void *), void *words, size_t bytes, cl_uint objects,                   \
       const cl_mem *list, const void **places, EVENTS),                                                               \
      (queue, function, words, bytes, objects, list, places), launch(NULL), 0)                                         \
    F(86, cl_int, clEnqueueReadBufferRect,                                                                             \
      (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin, const size_t *host_origin,         \
       const size_t *region, size_t row_pitch, size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,     \
       void *to, EVENTS),                                                                                              \
      (queue, buffer, blocks, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, host_slice_pitch,   \
       to),                                                                                                            \
      copy(COPY_TO_HOST, volume(region)), blocks)                                                                      \
    F(87, cl_int, clEnqueueWriteBufferRect,                                                                            \
      (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin, const size_t *host_origin,         \
       const size_t *region, size_t row_pitch, size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,     \
       const void *from, EVENTS),                                                                                      \
      (queue, buffer, blocks, origin, host_origin, region, row_pitch, slice_pitch, host_row_pitch, host_slice_pitch,   \
       from),                                                                                                          \
      copy(COPY_TO_DEVICE, volume(region)), blocks)                                                                    \
    F(88, cl_int, clEnqueueCopyBufferRect,                                                                             \
      (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,             \
       const size_t *region, size_t from_row_pitch, size_t from_slice_pitch, size_t to_row_pitch,                      \
       size_t to_slice_pitch, EVENTS),                                                                                 \
      (queue, from, to, from_origin, to_origin, region, from_row_pitch, from_slice_pitch, to_row_pitch,                \
       to_slice_pitch),                                                                                                \
      copy(COPY_ON_DEVICE, volume(region)), 0)                                                                         \
    F(102, cl_int, clEnqueueFillBuffer,                                                                                \
      (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size,    \
       EVENTS),                                                                                                        \
      (queue, buffer, pattern, pattern_size, offset, size), copy(COPY_FILL, size), 0)                                  \
    F(103, cl_int, clEnqueueFillImage,                                                                                 \
      (cl_command_queue queue, cl_mem image, const void *colour, const size_t *origin, const size_t *region, EVENTS),  \
      (queue, image, colour, origin, region), copy(COPY_FILL, OF_IMAGE(image, region)), 0)                             \
    F(129, cl_int, clEnqueueSVMMemcpy,                                                                                 \
      (cl_command_queue queue, cl_bool blocks, void *to, const void *from, size_t size, EVENTS),                       \
      (queue, blocks, to, from, size), copy(COPY_ON_DEVICE, size), blocks)                                             \
    F(130, cl_int, clEnqueueSVMMemFill,                                                                                \
      (cl_command_queue queue, void *at, const void *pattern, size_t pattern_size, size_t size, EVENTS),               \
      (queue, at, pattern, pattern_size, size), copy(COPY_FILL, size), 0)                                              \
    F(131, cl_int, clEnqueueSVMMap,                                                                                    \
      (cl_command_queue queue, cl_bool blocks, cl_map_flags flags, void *at, size_t size, EVENTS),                     \
      (queue, blocks, flags, at, size), copy(COPY_MAP, (flags & MAP_INVALIDATES) != 0 ? 0 : size), blocks)
#define OPENCL_FUNCTIONS(F) OPENCL_CALLS(F) OPENCL_COMMANDS(F)

#define OPENCL_TYPE(place, result, name, parameters, ...) typedef result type_##name parameters;
#define OPENCL_PLACE(place, result, name, parameters, ...) AT_##name = place,
OPENCL_FUNCTIONS(OPENCL_TYPE)
enum { OPENCL_FUNCTIONS(OPENCL_PLACE) LEAST_FUNCTIONS = 62, MOST_FUNCTIONS = 256 };

#endif
