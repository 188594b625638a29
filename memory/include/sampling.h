/* Which allocations are recorded: a Poisson process over the bytes that each thread allocates.
 *
 * A thread draws how many bytes to let pass, from an exponential distribution, and records the allocation in which
 * they run out. So an allocation of s bytes is recorded with probability 1 - exp(-s/mean), whatever was allocated
 * before it. Allocations of SAMPLING_CERTAIN times the mean or more are all recorded, and use up none of these bytes.
 *
 * Thread-safe and async-signal-safe: each thread has its own countdown. An allocation in a signal handler that
 * interrupts another one may be counted twice, or not.
 */
#ifndef MEMORY_SAMPLING_H
#define MEMORY_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"

#define SAMPLING_CERTAIN 4

/* The countdown of a thread. */
struct countdown {
    uint64_t left;       /* bytes that pass without a look */
    uint64_t filled;     /* what `left` was when it was last set */
    uint64_t rest;       /* more bytes of the same draw; `left` stays below the certain size */
    uint64_t mean;       /* of the draw; 0: none yet */
    uint64_t unreported; /* bytes allocated since the thread's last event, before `filled` */
    uint64_t random;
    uint32_t has_end; /* its end is noticed */
};
extern __thread struct countdown countdown __attribute__((tls_model("initial-exec"))) HIDDEN;

/* An allocation to be recorded. */
struct pick {
    uint64_t mean;
    bool is_certain;
};

/* Count the bytes of an allocation. Returns false if the allocation may have to be recorded: sampling_pick must be
 * called, which decides. One subtraction in memory: the countdown has wrapped then. */
static inline bool sampling_pass(size_t bytes)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
    bool has_wrapped; /* compilers make three instructions of it */
    __asm__("subq %2, %0" : "+m"(countdown.left), "=@ccc"(has_wrapped) : "er"((uint64_t)bytes));
    return LIKELY(!has_wrapped);
#else
    return LIKELY(!__builtin_sub_overflow(countdown.left, (uint64_t)bytes, &countdown.left));
#endif
}

/* After sampling_pass has returned false: count the bytes, and return whether the allocation is to be recorded. */
bool sampling_pick(size_t bytes, struct pick *pick);

/* Return the bytes that the thread has allocated since this function's last call, with those of threads that have
 * ended; sampling_put_back returns them if the event is lost. */
uint64_t sampling_take_bytes(void);
void sampling_put_back(uint64_t bytes);

enum sampling_mode { SAMPLING_LATER, SAMPLING_ON, SAMPLING_OFF };

/* Set whether anything is recorded. Any thread. */
void sampling_set(enum sampling_mode mode);
enum sampling_mode sampling_mode(void);

/* Forget the calling thread's countdown: in a forked child. */
void sampling_restart(void);

/* Make the calling thread the first one; return what that thread has allocated since its last event. Any thread. */
void sampling_begin(void);
uint64_t sampling_outstanding(void);

/* Set the mean of later draws. */
void sampling_set_mean(uint64_t bytes);
uint64_t sampling_mean(void);

/* The recorded allocations, from the threads to the collector's stream (docs/reference/formats.md, kind 10).
 * Thread-safe and async-signal-safe. */

/* Flags of an event. */
enum event_flag {
    EVENT_MAPPING = 1,  /* by mmap */
    EVENT_CERTAIN = 2,  /* recorded for its size: it stands for itself alone */
    EVENT_CONTINUED = 4 /* what is left of an earlier mapping, a part of which was unmapped */
};

/* Record an allocation that sampling_pick has chosen. Returns whether it was. */
bool events_add(const void *block, uint64_t bytes, const struct pick *pick, uint32_t flags);

/* Record what is left of a mapping. */
void events_continue(const void *block, uint64_t bytes, uint64_t id_before);

#endif
