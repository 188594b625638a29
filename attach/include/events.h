/* The kernel's side: a tick for so much CPU time of each thread (perf's task clock), with the thread's registers and
 * the top of its stack, and news of threads, programs and code, all in one ring per processor. Threads and processes
 * that a followed one starts are followed by themselves. This process looks when it wants to, or waits for samples by
 * the rings' descriptors.
 *
 * One thread at a time; not async-signal-safe.
 */
#ifndef ATTACH_EVENTS_H
#define ATTACH_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The largest that the kernel writes. */
#define MOST_RECORD_BYTES 65536

struct ring {
    int cpu, fd;
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    uint64_t bytes;    /* of data: a power of two */
    uint64_t head;     /* as it was when it was looked at last */
    uint64_t at;       /* of the next record */
    uint64_t time_ns;  /* of that record, if there is one: at < head */
    uint8_t *straight; /* the record, where it goes round the end */
};

struct events {
    struct perf_event_attr attr;
    struct ring *rings;
    size_t ring_count;
    struct ring *taken; /* where the last record came from, which is still read */
    bool has_looked;    /* at what the rings hold, since nothing was left */
    int *fds;
    size_t fd_count, fd_capacity;
    bool sees_kernel;  /* ticks inside the kernel come as well; else they are missing */
    uint64_t drain_ns; /* so often the rings are to be emptied */
};

/* `on_exec`: nothing happens before the thread becomes a program. 0 or negative errno. */
int events_open(struct events *events, pid_t tid, bool on_exec, uint64_t rate_hz, uint32_t stack_bytes);

/* Another thread, which none of those before has started since. 0 or negative errno. */
int events_add(struct events *events, pid_t tid);

/* No more of them. */
void events_stop(const struct events *events);

/* The oldest record that is not newer than `until_ns` (CLOCK_MONOTONIC), and its time; NULL where there is none. It is
 * there until events_next is called again. */
const struct perf_event_header *events_next(struct events *events, uint64_t until_ns, uint64_t *time_ns);

void events_close(struct events *events);

#endif
