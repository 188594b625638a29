/* How the kernel lays out what it was asked for (struct perf_event_attr in events.c). */
#ifndef ATTACH_LAYOUT_H
#define ATTACH_LAYOUT_H

#include <linux/perf_event.h>
#include <stdint.h>

#define SAMPLE_FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Of a sample; then registers, if any, and the stack. */
struct sample_start {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint64_t registers; /* enum perf_sample_regs_abi */
};

/* At the end of all other records. */
struct record_end {
    uint32_t pid, tid;
    uint64_t time_ns;
};

/* PERF_RECORD_FORK and PERF_RECORD_EXIT */
struct task_record {
    struct perf_event_header header;
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time_ns;
};

/* PERF_RECORD_COMM */
struct name_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    char name[];
};

/* PERF_RECORD_MMAP2 */
struct map_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, bytes, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
};

/* PERF_RECORD_LOST */
struct lost_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

#endif
