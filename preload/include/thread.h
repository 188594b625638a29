/* One record per application thread: its arc tables, its sample ring, its timer.
 *
 * A record is made by the thread that creates the thread (pthread_create hook) or, for threads made behind our back, by
 * the thread itself at its first instrumented call. Only the collector unlinks records, once the kernel says that the
 * thread is gone; records are then used again, so that a thread storm costs no memory.
 */
#ifndef INCPROF_THREAD_H
#define INCPROF_THREAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "path.h"
#include "unwind.h"

#define RING_WORDS 16384 /* a power of two */
#define SIGNAL_STACK ((size_t)64 << 10)

/* What the handler of the ticks saves up at most, and starts with (sampler.c). */
#define FULL_CREDIT_NS 1000000

struct arc {
    uint64_t self;  /* return address of mcount: in the called function. 0: free */
    uint64_t from;  /* return address of the called function: in its caller */
    uint64_t count; /* written by the owner alone */
    uint64_t seen;  /* written by the collector alone: what it has taken */
};

/* Open addressing without wrap-around: the slots behind the last home catch overflow. A full table is not copied: the
 * owner goes on with an empty one of twice the size, and the collector reads both. */
struct arc_table {
    struct arc_table *older;
    size_t bytes; /* of this mapping; 0: it lies behind its thread's record */
    size_t homes; /* a power of two */
    size_t slots;
    size_t used;
    struct arc arcs[];
};

enum thread_state { THREAD_NEW, THREAD_LIVE, THREAD_EXITING };

/* A thread's record: one mapping without guards, which would be three for the kernel (vm.max_map_count). The signal
 * stack comes first and has the ring at its lower end: a handler of the application's that needs more than SIGNAL_STACK
 * spoils samples, which are read with care, and nothing else. */
struct thread {
    union {
        uint64_t ring[RING_WORDS];
        uint8_t signal_stack[RING_WORDS * sizeof(uint64_t) + SIGNAL_STACK];
    };
    struct thread *next;
    struct arc_table *table;
    pid_t tid;
    uint32_t number; /* in order of appearance, per process */
    int state;
    uint64_t start_ns, exit_ns;
    uint64_t counted_ns; /* up to where its life time has been reported (collector) */

    /* Sampling. Due times are on the thread's CPU clock. */
    int tick_signal;   /* that its ticks come by, or 0 */
    int hidden_signal; /* that the application believes blocked here, or 0 (own_signal.h) */
    int timer;         /* kernel timer id, or -1 */
    int perf_fd;       /* of the interval thread's descriptors, or -1 */
    bool wants_ticker; /* from the interval thread */
    uint64_t period_ns, first_due_ns, delivered;
    int64_t credit_ns; /* what the handler may spend; in debt it skips (sampler.c) */
    uint64_t held;     /* ticks skipped, which the next sample stands for too */
    uint64_t start_pc; /* the start routine: what a thread too short to be sampled is charged to */
    uint64_t stack_low, stack_high;
    stack_t application_stack; /* the signal stack that the application has set */

    /* What pthread_create was asked to run (hooks.c). */
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

/* A blank record, or NULL. Thread-safe and async-signal-safe. */
struct thread *thread_new(void);

/* Gives back a record that was never started. */
void thread_discard(struct thread *thread);

/* Makes the calling thread the record's thread: sampled and counted from now on. Async-signal-safe. */
void thread_start(struct thread *thread, uint64_t stack_low, uint64_t stack_high, uint64_t start_pc);

/* The calling thread is about to end: its timer goes, what its timer could not see is accounted for. */
void thread_end(struct thread *thread);

/* All threads that were started, newest first. Collector. */
struct thread *thread_first(void);

/* Unlinks the records of threads that are gone, for use again. `all`: also looks for threads that ended without
 * passing our hook. `take_calls` gets each record before it is free. Collector, after draining. */
void thread_reap(bool all, void (*take_calls)(struct thread *));

/* In a forked child: forgets every thread but the calling one. */
void thread_after_fork(void);

/* Stops the sampling of every thread. */
void thread_stop_all(void);

#endif
