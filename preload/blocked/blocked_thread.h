/* A blocked thread, observed from outside it: its times, its call path, and what it waits for. It belongs to this
 * process or, in programs that observe others, to the process selected with peek_process, modules_use and python_use.
 *
 * For the interval thread, whose descriptor table is not the application's, under the collector's lock, and for
 * incprof-attach. Nothing here touches the thread. Async-signal-safe; one caller at a time. */
#ifndef INCPROF_BLOCKED_THREAD_H
#define INCPROF_BLOCKED_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "interval.h"
#include "python.h"
#include "thread_waits.h"
#include "unwind.h"

struct wait_spans;

/* A process with blocked threads. All pointers but `python` are set. */
struct blocked_process {
    struct interval *interval; /* the open one */
    struct wait_spans *spans;  /* of that interval */
    struct unwind_cache *cache;
    struct python_thread *python; /* the code objects reported so far; NULL: no Python */
    /* Return 1 + the number of the process's thread with this id, as the process itself numbers them; 0: unknown. */
    uint32_t (*thread_number)(pid_t tid);
    bool lacks_code; /* set when a path has led to unknown code */
};

/* A thread of it. */
struct blocked_thread {
    struct blocked_process *process;
    struct thread_waits *waits;
    pid_t tid;
    uint64_t number;
    uint64_t start_ns;              /* CLOCK_MONOTONIC; 0: it has run before it was first seen */
    uint64_t stack_low, stack_high; /* 0 and UINT64_MAX where unknown */
};

/* What the kernel reports of the thread: its times, and the system call that it is blocked in. Up to MOST_FILES files
 * stay open. */

struct task_times {
    uint64_t cpu_ns, delay_ns; /* on a processor, and waiting for one */
    uint64_t runs;             /* how often it was given a processor; 0: not available */
};

struct task_call {
    int64_t number; /* of the system call; -1: none, as in a page fault */
    uint64_t arguments[6];
    uint64_t sp, pc; /* 0: not available */
};

enum task_result {
    TASK_GONE,    /* there is no such thread */
    TASK_RUNNING, /* on a processor or ready to run */
    TASK_BLOCKED,
    TASK_REFUSED /* the kernel denies the information */
};

/* Read the times. False: the thread has ended, or the kernel does not count its times. */
bool task_times(struct thread_waits *waits, pid_t tid, struct task_times *times);

/* Read the system call. With TASK_REFUSED nothing is known of it but that it is blocked. */
enum task_result task_call(struct thread_waits *waits, pid_t tid, struct task_call *call);

/* Return the processor that the thread was last on; -1: unknown. */
int task_processor(pid_t tid);

/* Close the thread's files. */
void task_close(struct thread_waits *waits);

/* Forget how many are open: the descriptor table is another one. */
void task_forget(void);

/* What a descriptor of the application's is (docs/reference/formats.md, kind 9). */
enum wait_object {
    OBJECT_NONE,
    OBJECT_FILE,
    OBJECT_DIRECTORY,
    OBJECT_PIPE,
    OBJECT_SOCKET,
    OBJECT_CHARACTERS,
    OBJECT_BLOCKS,
    OBJECT_EPOLL,
    OBJECT_EVENT,
    OBJECT_TIMER,
    OBJECT_OTHER
};

/* Return it without a request to a file system's server. */
enum wait_object task_object(struct thread_waits *waits, pid_t tid, int fd);

/* Return what the system call's descriptor is, the first one for a poll or select; OBJECT_NONE if the call
 * has none. */
enum wait_object wait_object_of(struct thread_waits *waits, pid_t tid, const struct task_call *call);

/* Return 1 + the number of the application's thread that holds the lock which a futex call waits for, as far as the
 * memory behind it shows one; 0: unknown. */
uint32_t wait_lock_holder(const struct blocked_process *process, const struct task_call *call);

/* The thread's call path. Only its stack pointer and instruction are known. Its stack is copied by the kernel, because
 * the thread may go on or end meanwhile; the caller checks afterwards that it has not run. */

/* A path, before it has a node. */
struct wait_path {
    struct sample frames; /* the application's: frames and flags only */
    struct wait_site site;
    bool is_complete; /* unwound to the stack's end */
    bool is_ours;     /* the thread is blocked in this library */
};

/* Unwind the thread. */
void wait_path_walk(const struct blocked_thread *thread, const struct task_call *call, struct wait_path *path);

/* Add the path to the interval's, and complete its site. */
void wait_path_add(const struct blocked_process *process, struct wait_path *path);

#endif
