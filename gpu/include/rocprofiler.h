/* The part of rocprofiler-sdk's binary interface that is used here, declared from AMD's public headers, so that the
 * library builds without ROCm. Records are read at offsets that have been the same from 0.6 (ROCm 6.4) on;
 * where 1.0 inserted a field, the record itself shows which layout it has. */
#ifndef GPU_ROCPROFILER_H
#define GPU_ROCPROFILER_H

#include <stdbool.h>

#include "gpu.h"

enum {
    ROCPROFILER_OK = 0,
    ROCPROFILER_LEAST_VERSION = 600, /* 10000 * major + 100 * minor + patch */
    AGENT_VERSION = 1,
    POLICY_LOSSLESS = 2,
    CATEGORY_TRACING = 1,
    PHASE_LOAD = 1
};

/* Kinds of tracing: by buffers, by callbacks. Those of requests for ids are numbered as buffers are. */
enum { TRACING_HIP_CALL = 5, TRACING_COPY = 10, TRACING_KERNEL = 11 };
enum { CALLBACK_CODE_OBJECT = 10 };
enum { CODE_OBJECT_KERNEL = 2 }; /* its operation: a kernel's symbol */
enum { COPY_HOST_HOST = 1, COPY_HOST_DEVICE, COPY_DEVICE_HOST, COPY_DEVICE_DEVICE };

/* Offsets of fields. Kernels and copies share those that begin with TRACED. */
enum {
    HEADER_CATEGORY = 0,
    HEADER_KIND = 4,
    HEADER_RECORD = 8,
    TRACED_SIZE = 0,
    TRACED_OPERATION = 12,
    TRACED_ID = 24, /* given by request_ids */
    TRACED_START = 40,
    TRACED_END = 48,
    DISPATCH_AGENT = 64,
    DISPATCH_QUEUE = 72,
    DISPATCH_KERNEL = 80,
    DISPATCH_BYTES = 88,
    COPIED_TO = 56,
    COPIED_FROM = 64,
    COPIED_BYTES = 72,
    COPIED_SIZE = 80,
    SYMBOL_KERNEL = 8,
    SYMBOL_NAME = 24,
    AGENT_ID = 8,
    AGENT_TYPE = 16,
    AGENT_PRODUCT = 264,
    AGENT_BYTES = 280
};
enum { AGENT_IS_GPU = 2 };
/* Calls of HIP: the record's size before and since 1.0, and its times from its end. */
enum { CALL_SIZE_OLD = 56, CALL_SIZE = 64, CALL_START_BEFORE_END = 24, CALL_END_BEFORE_END = 16 };
/* Records of callbacks, which are passed by value: the kind's offset before and since 1.0, and what follows from it. */
enum { CALLED_KIND_OLD = 32, CALLED_KIND = 40, CALLED_OPERATION = 4, CALLED_PHASE = 8, CALLED_DATA = 16 };

struct rocprofiler_id {
    uint64_t handle;
};
struct rocprofiler_called {
    uint64_t words[8];
};
typedef void rocprofiler_buffered(struct rocprofiler_id context, struct rocprofiler_id buffer, const void **headers,
                                  size_t count, void *data, uint64_t dropped);
typedef void rocprofiler_callback(struct rocprofiler_called record, void *user, void *data);
typedef int rocprofiler_requested(uint64_t thread, struct rocprofiler_id context, int kind, int32_t operation,
                                  uint64_t own_id, uint64_t *id, void *data);
typedef int rocprofiler_agents(int version, const void **agents, size_t count, void *data);
typedef int rocprofiler_operation(int kind, int32_t operation, void *data);

#define ROCPROFILER_FUNCTIONS(F)                                                                                       \
    F(create_context, "rocprofiler_create_context", struct rocprofiler_id *context)                                    \
    F(create_buffer, "rocprofiler_create_buffer", struct rocprofiler_id context, size_t size, size_t watermark,        \
      int policy, rocprofiler_buffered *callback, void *data, struct rocprofiler_id *buffer)                           \
    F(trace_to_buffer, "rocprofiler_configure_buffer_tracing_service", struct rocprofiler_id context, int kind,        \
      const int32_t *operations, size_t count, struct rocprofiler_id buffer)                                           \
    F(trace_by_callback, "rocprofiler_configure_callback_tracing_service", struct rocprofiler_id context, int kind,    \
      const int32_t *operations, size_t count, rocprofiler_callback *callback, void *data)                             \
    F(request_ids, "rocprofiler_configure_external_correlation_id_request_service", struct rocprofiler_id context,     \
      const int *kinds, size_t count, rocprofiler_requested *callback, void *data)                                     \
    F(operations, "rocprofiler_iterate_buffer_tracing_kind_operations", int kind, rocprofiler_operation *callback,     \
      void *data)                                                                                                      \
    F(operation_name, "rocprofiler_query_buffer_tracing_kind_operation_name", int kind, int32_t operation,             \
      const char **name, uint64_t *length)                                                                             \
    F(agents, "rocprofiler_query_available_agents", int version, rocprofiler_agents *callback, size_t agent_size,      \
      void *data)                                                                                                      \
    F(start, "rocprofiler_start_context", struct rocprofiler_id context)                                               \
    F(flush, "rocprofiler_flush_buffer", struct rocprofiler_id buffer)                                                 \
    F(timestamp, "rocprofiler_get_timestamp", uint64_t *ns)
struct rocprofiler {
    ROCPROFILER_FUNCTIONS(TABLE_FIELD)
};

/* What rocprofiler_configure returns. */
struct rocprofiler_tool {
    size_t size;
    int (*initialize)(void (*finalize)(void), void *data);
    void (*finalize)(void *data);
    void *data;
};

/* kernels.c: the names of kernels, by rocprofiler-sdk's numbers for them. */
/* A kernel's code is loaded, or unloaded. */
rocprofiler_callback kernels_callback;
/* Return the name, or NULL. */
const char *kernels_find(uint64_t kernel);

/* records.c: what buffers hold. */
bool records_start(const struct rocprofiler *rocprofiler, struct rocprofiler_id context, struct rocprofiler_id buffer);
rocprofiler_buffered records_callback;

#endif
