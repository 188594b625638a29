/* The part of CUPTI's binary interface that is used here, declared from NVIDIA's public documentation, so that the
 * library builds without CUDA. Fields of records are read at their offsets, which have been the same from CUDA 11.0 to
 * 13.5; tests/integration/gpu/test_cupti_layout.py compares them with NVIDIA's headers. */
#ifndef GPU_CUPTI_H
#define GPU_CUPTI_H

#include "gpu.h"

enum {
    CUPTI_OK = 0,
    CUPTI_TOO_MANY = 12,      /* CUPTI_ERROR_MAX_LIMIT_REACHED */
    CUPTI_NOT_READY = 15,     /* CUPTI_ERROR_NOT_INITIALIZED */
    CUPTI_HAS_OTHER = 39,     /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
    CUPTI_LEAST_VERSION = 13, /* of CUDA 11.0 */
    CUPTI_WITH_GRAPHS = 14,   /* of CUDA 11.1: kernels have the number of their graph */
    CUPTI_FORCED = 1          /* CUPTI_ACTIVITY_FLAG_FLUSH_FORCED */
};

enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME, DOMAIN_RESOURCE };
enum { GRAPH_NODE_CREATED = 13 }; /* a callback of the last one */
enum { SITE_ENTER = 0, SITE_EXIT = 1 };

/* Kinds of activity. */
enum {
    ACTIVITY_MEMCPY = 1,
    ACTIVITY_MEMSET = 2,
    ACTIVITY_KERNEL = 3,
    ACTIVITY_DEVICE = 8,
    ACTIVITY_CONCURRENT_KERNEL = 10,
    ACTIVITY_MEMCPY_PEER = 22,
    ACTIVITY_SYNCHRONIZATION = 38
};

/* Offsets of fields. The kind is a uint32_t at 0. */
enum {
    KERNEL_START = 16,
    KERNEL_END = 24,
    KERNEL_DEVICE = 40,
    KERNEL_STREAM = 48,
    KERNEL_CORRELATION = 92,
    KERNEL_NAME = 104,
    KERNEL_GRAPH = 156,
    COPY_KIND = 4,
    COPY_BYTES = 8,
    COPY_START = 16,
    COPY_END = 24,
    COPY_DEVICE = 32,
    COPY_STREAM = 40,
    COPY_CORRELATION = 44,
    PEER_CORRELATION = 60,
    SYNC_TYPE = 4,
    SYNC_START = 8,
    SYNC_END = 16,
    SYNC_STREAM = 32,
    DEVICE_NUMBER = 112,
    DEVICE_NAME = 136,
    CALLBACK_SITE = 0,
    CALLBACK_RESULT = 24, /* its place, in a callback after the call */
    CALLBACK_CORRELATION = 64
};

/* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT: the host does not wait. */
enum { SYNC_STREAM_WAIT_EVENT = 2 };

typedef void cupti_callback(void *user, int domain, uint32_t function, const void *data);
typedef void cupti_requested(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUPTI's functions; those after the version's may be missing. */
#define CUPTI_NEEDED 9
#define CUPTI_FUNCTIONS(F)                                                                                             \
    F(subscribe, "cuptiSubscribe", void **subscriber, cupti_callback *callback, void *user)                            \
    F(unsubscribe, "cuptiUnsubscribe", void *subscriber)                                                               \
    F(enable_callback, "cuptiEnableCallback", uint32_t enable, void *subscriber, int domain, uint32_t function)        \
    F(enable, "cuptiActivityEnable", int kind)                                                                         \
    F(register_callbacks, "cuptiActivityRegisterCallbacks", cupti_requested *requested, cupti_completed *completed)    \
    F(next_record, "cuptiActivityGetNextRecord", uint8_t *buffer, size_t valid, void **record)                         \
    F(flush, "cuptiActivityFlushAll", uint32_t flag)                                                                   \
    F(timestamp, "cuptiGetTimestamp", uint64_t *ns)                                                                    \
    F(get_version, "cuptiGetVersion", uint32_t *version)                                                               \
    F(register_timestamp, "cuptiActivityRegisterTimestampCallback", uint64_t (*clock)(void))                           \
    F(dropped, "cuptiActivityGetNumDroppedRecords", void *context, uint32_t stream, size_t *count)                     \
    F(result_name, "cuptiGetResultString", int result, const char **name)
struct cupti {
    CUPTI_FUNCTIONS(TABLE_FIELD)
};

/* Load libcupti from where the program's CUDA is, and find its functions; false: there is none, or functions are
 * missing. Calls the loader: once, on the thread that initialises CUDA. */
bool cupti_find(struct cupti *cupti);

/* cupti_launches.c: called by CUPTI before and after a call that launches. On the thread that launches. */
cupti_callback launches_callback;
bool launches_enable(const struct cupti *cupti, void *subscriber);

/* activity.c: CUPTI's records. */
/* Return CUPTI's result; not CUPTI_OK: nothing is recorded. */
int activity_start(const struct cupti *cupti);

#endif
