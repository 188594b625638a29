/* perf events: a tick per period of each thread's CPU time (perf's task clock), with the thread's registers and the top
 * of its stack, and records of new threads, programs and code, all in one ring per processor. Threads and processes
 * started by a followed one are followed automatically. This process reads the rings at any time, or waits for samples
 * on their descriptors.
 *
 * One thread at a time; not async-signal-safe.
 */
#ifndef OUTSIDE_PERF_RINGS_H
#define OUTSIDE_PERF_RINGS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <ucontext.h>

/* The largest record that the kernel writes. */
#define MOST_RECORD_BYTES 65536

struct ring {
    int cpu, fd;
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    uint64_t bytes;    /* of data: a power of two */
    uint64_t head;     /* at the last reading */
    uint64_t at;       /* of the next record */
    uint64_t time_ns;  /* of that record, if there is one (at < head) */
    uint8_t *straight; /* copy of a record that wraps around */
};

struct events {
    struct perf_event_attr attr;
    struct ring *rings;
    size_t ring_count;
    struct ring *taken; /* the ring of the last record, which is still in use */
    bool has_looked;    /* has read the rings' heads since they were last empty */
    int *fds;
    size_t fd_count, fd_capacity;
    bool sees_kernel;  /* ticks in kernel mode are included; otherwise they are missing */
    uint64_t drain_ns; /* period in which to empty the rings */
};

/* Open the events of a thread. `on_exec`: disabled until its exec. Returns 0 or negative errno. */
int events_open(struct events *events, pid_t tid, bool on_exec, uint64_t rate_hz, uint32_t stack_bytes);

/* Add a thread that does not inherit the events of another one. Returns 0 or negative errno. */
int events_add(struct events *events, pid_t tid);

/* Stop all events. */
void events_stop(const struct events *events);

/* Return the oldest record not newer than `until_ns` (CLOCK_MONOTONIC), and its time; NULL if there is none. It is
 * valid until the next call. */
const struct perf_event_header *events_next(struct events *events, uint64_t until_ns, uint64_t *time_ns);

void events_close(struct events *events);

/* Record layouts for the requested fields (struct perf_event_attr in perf_rings.c). */

#define SAMPLE_FIELDS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The start of a sample; registers, if any, and the stack follow. */
struct sample_start {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint64_t registers; /* enum perf_sample_regs_abi */
};

/* The end of all other records. */
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

/* The registers in a sample, by perf's numbers (asm/perf_regs.h), for the unwinder. */

#if defined(__x86_64__)

/* ax bx cx dx si di bp sp ip, then r8 to r15 from number 16 on. */
#define USER_REGISTERS (UINT64_C(0x1ff) | UINT64_C(0xff) << 16)
#define USER_REGISTER_COUNT 17

static inline void user_registers(ucontext_t *context, const uint64_t values[USER_REGISTER_COUNT])
{
    static const uint8_t order[USER_REGISTER_COUNT] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                                       REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                                       REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < USER_REGISTER_COUNT; i++)
        context->uc_mcontext.gregs[order[i]] = (greg_t)values[i];
}

#elif defined(__aarch64__)

/* x0 to x30, sp, pc. */
#define USER_REGISTERS ((UINT64_C(1) << 33) - 1)
#define USER_REGISTER_COUNT 33

static inline void user_registers(ucontext_t *context, const uint64_t values[USER_REGISTER_COUNT])
{
    for (int i = 0; i < 31; i++)
        context->uc_mcontext.regs[i] = values[i];
    context->uc_mcontext.sp = values[31];
    context->uc_mcontext.pc = values[32];
}

#else
#error "this architecture's registers are not known yet"
#endif

#endif
