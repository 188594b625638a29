/* What a process's GPUs do, summed by time slot until the collector writes it (docs/reference/formats.md, kind 13).
 *
 * CUPTI delivers records on threads of its own and of the program; the interval thread writes the sums. Everything
 * below that needs `gpu_lock` says so. Nothing here is called in signal context or in a vfork child, but for
 * gpu_launched, whose event is passed by incprof_extension_event. */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"

#define SLOT_NS ((uint64_t)200000000)
#define MOST_DEVICES 16
#define HOST_WAITS MOST_DEVICES /* the lane of synchronisations: at least one thread waits */
#define LANES (MOST_DEVICES + 1)
#define MOST_STREAMS 64          /* the last one stands for all others */
#define OTHER_STREAMS UINT32_MAX /* its number */

enum gpu_state {
    GPU_RECORDED,
    GPU_NO_CUPTI,
    GPU_OTHER_SUBSCRIBER,
    GPU_OLD_CUPTI,
    GPU_REFUSED,
    GPU_OLD_ROCPROFILER,
    GPU_ROCPROFILER_REFUSED
};

/* Path of a launch: nodes of the stream, or one of these. */
enum { NODE_UNKNOWN = 0, NODE_UNSAMPLED = UINT32_MAX };

/* Totals since the recording began, in the order of the format. Atomic. */
struct gpu_totals {
    uint64_t launches, graph_launches; /* calls */
    uint64_t kernels, graph_kernels;   /* records */
    uint64_t dropped;                  /* records that CUPTI had no room for */
    uint64_t lost;                     /* records and paths that this library had no room for */
    uint64_t incomplete;               /* kernels that had not ended when the program did */
    uint64_t late_ns;                  /* device time older than all spans that are known */
};
extern struct gpu_totals gpu_totals;
extern uint32_t gpu_version; /* of CUPTI or rocprofiler-sdk; 0: none */
/* The interface whose activity is recorded. */
enum gpu_interface { GPU_CUDA, GPU_OPENCL, GPU_HIP, GPU_OPENMP };
extern uint32_t gpu_interface;

static inline void gpu_count(uint64_t *total, uint64_t more)
{
    __atomic_fetch_add(total, more, __ATOMIC_RELAXED);
}

/* state.c: whether this process is recorded. */
bool gpu_is_recording(void);
void gpu_set_recording(bool is_on);

/* state.c: the lock. Held for microseconds, with signals blocked by threads of libc's. The interval thread only tries.
 */
uint64_t gpu_lock(void); /* returns the signal mask */
void gpu_unlock(uint64_t mask);
bool gpu_try_lock(unsigned attempts);
void gpu_leave(void);

/* Fields of foreign records, at their offsets. */
static inline uint32_t field_u32(const void *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)record + offset, sizeof value);
    return value;
}
static inline uint64_t field_u64(const void *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)record + offset, sizeof value);
    return value;
}
static inline const void *field_pointer(const void *record, size_t offset)
{
    return (const void *)(uintptr_t)field_u64(record, offset);
}

/* Return the lane of a device: the last one stands for all others. */
static inline uint16_t device_lane(uint32_t device)
{
    return (uint16_t)(device < MOST_DEVICES ? device : MOST_DEVICES - 1);
}

/* names.c: numbers of kernels' names (0: no name, 1: all others), and the names of devices. Each is written once. Under
 * the lock. */
uint32_t kernel_name(const char *name);
void device_name(uint32_t device, const char *name);
void names_put(struct buffer *out);

/* sums.c: what happened in a slot. Under the lock. */
#define FIRST_SUM_RECORD 3 /* the type of a record of sums, less their kind */
enum sum_kind { SUM_KERNEL, SUM_COPY, SUM_BUSY, SUM_SYNC, SUM_STREAM, SUM_OVERLAP, SUM_KINDS };
struct sum_key {
    uint64_t slot;
    uint32_t what; /* name of a kernel, kind of a copy (0: memset), type of a synchronisation, stream, overlap */
    uint32_t node;
    uint16_t device;
    uint16_t kind;
};
static inline bool sum_key_is_same(const struct sum_key *one, const struct sum_key *other)
{
    return one->slot == other->slot && one->what == other->what && one->node == other->node &&
           one->device == other->device && one->kind == other->kind;
}
static inline uint32_t sum_key_hash(const struct sum_key *key)
{
    uint64_t hash = key->slot * 0x9e3779b97f4a7c15u ^ ((uint64_t)key->node << 32 | key->what);
    return (uint32_t)(((hash ^ ((uint64_t)key->device << 16 | key->kind)) * 0xff51afd7ed558ccdu) >> 32);
}
/* Return the number of a path in records. */
static inline uint64_t node_number(uint32_t node)
{
    return node == NODE_UNSAMPLED ? 0 : (uint64_t)node + 1;
}
/* A kernel, a copy, or a wait of the host, which has ended. */
struct device_work {
    uint64_t start_ns, end_ns, bytes;
    uint32_t correlation; /* of its launch; 0: unknown */
    uint32_t what;        /* as in struct sum_key */
    uint32_t stream;      /* of a wait: OTHER_STREAMS if it is for no stream */
    uint16_t device;
    uint16_t kind; /* of its sum */
};
void sums_add(const struct sum_key *key, uint64_t count, uint64_t ns, uint64_t bytes);
bool sums_any(void);
/* Append the records of all sums, and clear them. */
void sums_put(struct buffer *out, uint64_t run_start_ns);

/* spans.c: time in which a lane was busy, as the union of spans. Under the lock. */
/* Unions over all devices: with the time that the host waits, they give the time in which both are busy, and neither.
 */
enum overlap { ANY_DEVICE, DEVICE_OR_WAIT, OVERLAPS };
/* Add a kernel or copy. */
void spans_add_work(unsigned device, uint32_t stream, uint64_t start_ns, uint64_t end_ns);
/* Add a wait of the host. */
void spans_add_wait(uint64_t start_ns, uint64_t end_ns);
/* Complete the sums. */
void spans_put(void);

/* flush.c: ask for records once a second, and when the process ends: before the collector and the interface do, because
 * that is registered later. A forked child does neither. */
void flush_start(void (*ask)(bool is_last));
void flush_finish(void); /* the same, if it comes first */

/* clocks.c: the time of a device as CLOCK_MONOTONIC. */
/* A device's clock showed `device_ns` between two of our times. */
void clock_bound(unsigned lane, uint64_t device_ns, uint64_t before_ns, uint64_t after_ns);
bool clock_is_due(unsigned lane, uint64_t now_ns);
uint64_t clock_convert(unsigned lane, uint64_t device_ns);
/* Compare the one clock of all devices with ours, before records are read. `read` returns 0, or fails; NULL: they are
 * the same. Takes the lock. */
void clock_measure(int (*read)(uint64_t *ns));
/* Set times of that clock; false: the work had not ended, or they make no sense. Under the lock. */
bool clock_times(struct device_work *work, uint64_t start_ns, uint64_t end_ns);

/* launches.c: launches and their call paths, and the work of which they are. */
void launches_start(int extension);
/* Count a launch, if it is of a kernel, and record its path as launches_record does. Returns its number. */
uint32_t launches_count(bool is_kernel);
/* Record the calling thread's path for a launch, if it is drawn. Before the kernel is added. */
void launches_record(uint32_t correlation);
/* The path of a launch was recorded. Interval thread, under the lock. */
void launches_take(uint32_t correlation, uint32_t node);
/* Add a kernel or copy, at once or when its path comes. Under the lock. */
void launches_add(const struct device_work *work);
/* The same with times of the devices' one clock. */
void launches_add_between(struct device_work *work, uint64_t start_ns, uint64_t end_ns);
/* Add a wait of the host. Under the lock. */
void launches_add_wait(uint32_t type, uint32_t stream, uint64_t start_ns, uint64_t end_ns);
/* Add the kernels and copies whose paths have come, and those that have waited for an interval. Interval thread, under
 * the lock. */
void launches_resolve(bool is_last);
uint32_t launches_per_path(void);

/* trace.c: each kernel, copy and wait, if the user wants them. Under the lock but for the first and the last. */
void trace_start(void); /* once, first */
void trace_add(const struct device_work *work, uint32_t node);
/* Return whether there is a trace, and how many had no room in it. */
bool trace_left_out(uint64_t *count);
/* Append the records, and forget them. */
void trace_put(struct buffer *out, uint64_t run_start_ns);
/* Print one line when the trace is full. A thread of libc's. */
void trace_report(void);

/* extension.c */
/* Nothing is recorded, for this reason. Intervals have images from the first work on, or with a reason. */
void extension_refuse(enum gpu_state why);
/* Register with the collector; negative: there is none. */
int extension_start(void);

/* start.c: on the thread that first uses an interface. */
/* Prepare a library; false: the process is not recorded. */
bool gpu_start(const char *library, enum gpu_interface interface);
/* Nothing is recorded, for this reason, which one process of a launch prints. */
void gpu_refuse(enum gpu_state state, const char *why, const char *advice);
/* Find functions by their names, which end with NULL, and put them into a table; false: there is no library, or one of
 * the first `needed` is missing. */
bool find_functions(void *library, const char *const *names, size_t needed, void *table);
/* Such a table is a list of F(field, name, parameters); all functions return an int. */
#define TABLE_FIELD(field, name, ...) int (*field)(__VA_ARGS__);
#define TABLE_NAME(field, name, ...) name,

#endif
