/* One record per application thread: its arc tables, its sample ring, its timer.
 *
 * A record is found by the thread that creates the thread (pthread_create hook) or, for threads made behind our back,
 * by the thread itself at its first instrumented call: one whose thread is gone, as the kernel says, or a new one. It
 * stays in the list for good. What the collector has not taken of one life it takes in the next: calls are counted on,
 * samples say whose they are. So a thread storm costs no memory, however seldom the collector gets to run.
 */
#ifndef INCPROF_THREAD_H
#define INCPROF_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arcs.h"
#include "path.h"
#include "python.h"
#include "unwind.h"

#define RING_WORDS 16384 /* a power of two */
#define SIGNAL_STACK ((size_t)64 << 10)

/* What the handler of the ticks saves up at most, and starts with (sampler.c). */
#define FULL_CREDIT_NS 1000000

/* Of a record that nobody has, of one that is somebody's who has yet to start, and of a running thread's. */
enum thread_state { THREAD_ENDED, THREAD_NEW, THREAD_LIVE };

/* A thread's record: one mapping without guards, which would be three for the kernel (vm.max_map_count). The signal
 * stack comes first and has the ring at its lower end: a handler of the application's that needs more than SIGNAL_STACK
 * spoils samples, which are read with care, and nothing else. */
struct thread {
    union {
        uint64_t ring[RING_WORDS];
        uint8_t signal_stack[RING_WORDS * sizeof(uint64_t) + SIGNAL_STACK];
    };
    struct thread *next;       /* of all records */
    struct thread *next_ended; /* of those that nobody has */
    struct arc_table *table;
    pid_t tid;
    uint32_t number;  /* in order of appearance, per process; written after `tid` */
    uint64_t settled; /* 1 + the number of the thread that is gone and has left nothing to take (collector) */
    int state;
    uint64_t start_ns;
    uint64_t lived_ns;   /* by the record's threads so far, but for the running one */
    uint64_t counted_ns; /* what has been reported of that (collector) */

    /* Sampling. Due times are on the thread's CPU clock. */
    int tick_signal;      /* that its ticks come by, or 0 */
    int hidden_signal;    /* that the application believes blocked here, or 0 (own_signal.h) */
    int timer;            /* kernel timer id, or -1 */
    int perf_fd;          /* of the interval thread's descriptors, or -1 */
    int burst_fd;         /* of the last burst's event, or -1 (burst.h) */
    uint64_t burst_ticks; /* delivered when that began (collector) */
    pid_t perf_tid;       /* whose ticks that makes: of the running thread, or of one before it (collector) */
    bool wants_ticker;    /* from the interval thread */
    uint64_t period_ns, first_due_ns, delivered;
    int64_t credit_ns; /* what the handler may spend; in debt it skips (sampler.c) */
    uint64_t held;     /* ticks skipped, which the next sample stands for too */
    uint64_t start_pc; /* the start routine: what a thread too short to be sampled is charged to */
    uint64_t stack_low, stack_high;
    stack_t application_stack; /* the signal stack that the application has set */

    /* What pthread_create was asked to run (thread_hooks.c). */
    void *(*routine)(void *);
    void *argument;

    /* Written by the thread (thread_add), read by the collector, which keeps what it has taken in `taken`. */
    struct thread_counters {
        uint64_t samples, ticks, lost, broken, handler_ns, skipped;
    } counters, taken;

    uint64_t head; /* of the ring: next word to write (thread) */
    uint64_t tail; /* next word to read (collector) */
    struct path path;
    struct path_memory memory;
    uint8_t window[UNWIND_WINDOW];
    struct unwind_cache cache;
    struct python_thread python;
};

/* What the entry stubs and the signal handler find their thread by. The stubs know the offsets of the first two. */
struct tls_block {
    struct arc *arcs;
    uint64_t mask; /* (homes - 1) * sizeof(struct arc) */
    struct thread *self;
};
extern __thread struct tls_block incprof_tls;

/* Adds to one of the calling thread's own counters, which the collector may be reading. Async-signal-safe. */
static inline void thread_add(uint64_t *counter, uint64_t more)
{
    __atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

/* A record for a thread that is yet to start, or NULL. Thread-safe and async-signal-safe. */
struct thread *thread_new(void);

/* The record is nobody's any more: for others, as soon as the thread is gone. Thread-safe and async-signal-safe. */
void thread_give_back(struct thread *thread);

/* Whether the kernel knows no such thread: it has run its last instruction. Async-signal-safe. */
bool thread_is_gone(pid_t tid);

/* The record is the calling thread's: it has its tid, and the next number. Thread-safe and async-signal-safe. */
void thread_sign(struct thread *thread);

/* All records, newest first. Thread-safe. */
struct thread *thread_first(void);

/* In a forked child: gives the memory of all records back but of this one (may be NULL) and of threads of its own. */
void thread_forget_others(const struct thread *mine);

/* The stubs count in the calling thread's newest table from here on. Async-signal-safe. */
void thread_use_arcs(const struct thread *thread);

#endif
