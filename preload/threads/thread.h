/* One record per application thread: its arc tables, its sample ring, its timer.
 *
 * The creating thread assigns the record (pthread_create hook). A thread that was created without the hook assigns one
 * itself at its first instrumented call. The record is that of a thread which has ended according to the kernel, or a
 * new one. Records stay in the list for good. The collector takes the remaining data of an ended thread together with
 * the next one's: call counts continue, and samples carry their thread's number. So a burst of threads needs no extra
 * memory, however rarely the collector runs.
 */
#ifndef INCPROF_THREAD_H
#define INCPROF_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arcs.h"
#include "counter_values.h"
#include "path.h"
#include "python.h"
#include "thread_waits.h"
#include "unwind.h"

#define RING_WORDS 16384 /* a power of two */
#define SIGNAL_STACK ((size_t)64 << 10)

/* The tick handler's maximum and initial credit (sampler.c). */
#define FULL_CREDIT_NS 1000000

/* State of a record: unused, assigned to a thread that has not started yet, or in use by a running thread. */
enum thread_state { THREAD_ENDED, THREAD_NEW, THREAD_LIVE };

/* A thread's record: one mapping without guard pages, with which the kernel would count three (vm.max_map_count). The
 * signal stack comes first, with the ring at its lower end: an application handler that needs more than SIGNAL_STACK
 * overwrites only samples, which the reader validates. */
struct thread {
    union {
        uint64_t ring[RING_WORDS];
        uint8_t signal_stack[RING_WORDS * sizeof(uint64_t) + SIGNAL_STACK];
    };
    struct thread *next;       /* of all records */
    struct thread *next_ended; /* of the unused records */
    struct arc_table *table;
    pid_t tid;
    uint32_t number;  /* in order of appearance, per process; written after `tid` */
    uint64_t settled; /* 1 + the number of the ended thread whose data has all been taken (collector) */
    int state;
    uint64_t start_ns;
    uint64_t lived_ns;   /* by the record's threads so far, except the running one */
    uint64_t counted_ns; /* the reported part of that (collector) */

    /* Sampling. Due times are on the thread's CPU clock. */
    int tick_signal;             /* the signal of its ticks, or 0 */
    int hidden_signal;           /* the signal that the application regards as blocked here, or 0 (own_signal.h) */
    int timer;                   /* kernel timer id, or -1 */
    int perf_fd;                 /* in the interval thread's descriptor table, or -1 */
    int dense_fd;                /* of the last dense sampling window's event, or -1 (sampler.h) */
    uint64_t dense_ticks;        /* ticks delivered when that began (collector) */
    pid_t perf_tid;              /* thread of the perf event: the running one, or one before it (collector) */
    bool wants_ticker;           /* from the interval thread */
    struct thread_events events; /* hardware events (collector) */
    uint64_t period_ns, first_due_ns, delivered;
    uint64_t first_expiry_ns; /* of the timer (ticker.c) */
    int64_t credit_ns;        /* the handler's time budget; below 0 it skips ticks (sampler.c) */
    uint64_t held;            /* skipped ticks, added to the next sample's weight */
    uint64_t start_pc;        /* the start routine; 0: the main thread */
    uint64_t stack_low, stack_high;
    stack_t application_stack; /* the signal stack that the application has set */

    /* The start routine given to pthread_create (thread_hooks.c). */
    void *(*routine)(void *);
    void *argument;

    /* Written by the thread (thread_add), read by the collector, which stores the values taken so far in `taken`. */
    struct thread_counters {
        uint64_t samples, ticks, lost, broken, handler_ns, event_ns, skipped;
    } counters, taken;

    uint64_t head; /* of the ring: next word to write (thread) */
    uint64_t tail; /* next word to read (collector) */
    struct path path;
    struct path_memory memory;
    uint8_t window[UNWIND_WINDOW];
    struct unwind_cache cache;
    struct python_thread python;
    struct thread_waits waits;
};

/* The entry stubs and the signal handler find their thread by this block. The offsets of the first two fields are fixed
 * in the stubs. */
struct tls_block {
    struct arc *arcs;
    uint64_t mask; /* (homes - 1) * sizeof(struct arc) */
    struct thread *self;
};
extern __thread struct tls_block incprof_tls;

/* Add to one of the calling thread's own counters, which the collector may be reading. Async-signal-safe. */
static inline void thread_add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* Return a record for a thread that has not started yet, or NULL. Thread-safe and async-signal-safe. */
struct thread *thread_new(void);

/* Release the record for reuse as soon as the thread has ended. Thread-safe and async-signal-safe. */
void thread_release(struct thread *thread);

/* Return whether the kernel has no such thread: it has run its last instruction. Async-signal-safe. */
bool thread_has_exited(pid_t tid);

/* Make the record the calling thread's: set its tid and the next number. Thread-safe and async-signal-safe. */
void thread_sign(struct thread *thread);

/* Return the number of threads so far, in a forked child since the fork. Thread-safe. */
uint32_t thread_count(void);

/* Return the list of all records, newest first. Thread-safe. */
struct thread *thread_first(void);

/* In a forked child: free all records except this one (may be NULL) and those of the child's own threads. */
void thread_forget_others(const struct thread *mine);

/* Make the stubs count in the calling thread's newest table. Async-signal-safe. */
void thread_use_arcs(const struct thread *thread);

/* Signal stacks, on which signal handlers run.
 *
 * Our handler uses the signal stack (SA_ONSTACK), and every thread without one gets one of ours, because coroutine
 * stacks may be too small for a signal frame. The kernel has one signal stack per thread, so the application's handlers
 * would run on ours too, and a stack that the application sets replaces ours. Therefore:
 *   - until the application has set a signal stack in any thread, its handlers run on the interrupted stack, as they
 *     would without us (SA_ONSTACK is stored but not passed to the kernel);
 *   - a stack below 8 KiB is only stored: its handlers run on ours;
 *   - a stack that a handler sets is undone by the kernel when the handler returns, if the thread had ours: queries
 *     return the application's stack, and its handlers run on ours;
 *   - once the application has a stack below 64 KiB, ticks do not interrupt handlers on signal stacks but wait until
 *     they return.
 *
 * Everything here is async-signal-safe and thread-safe except signal_stacks_begin. The internal lock is held with all
 * signals blocked, for a few system calls, and no other lock is taken under it.
 */

/* Enable these rules, also for handlers that are already installed. Before this call, all functions below forward to
 * libc. `ticks`: the signals blocked during handlers on small stacks. Once, before the first thread starts. */
void signal_stacks_begin(const sigset_t *ticks);

/* Make the calling thread's handlers run on our stack until the application sets another. */
void signal_stacks_start_thread(struct thread *thread);

/* In a forked child: release the lock and complete a half-done change. Before any other function of ours. */
void signal_stacks_after_fork(void);

/* sigaction for the application, for any signal except the ticks'. */
int signal_stacks_action(int number, const struct sigaction *action, struct sigaction *old);

#endif
