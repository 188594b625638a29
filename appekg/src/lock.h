/* Signals out of the way, and a lock for the slow paths. Its holder takes no signals: no handler finds it held by the
 * thread that it interrupted. It holds the holder's process: a child that was made behind libc's back takes what nobody
 * there can give back. Thread-safe and async-signal-safe. */
#ifndef EKG_LOCK_H
#define EKG_LOCK_H

#include <signal.h>
#include <stdbool.h>

#include "sys.h"

struct lock {
    uint32_t holder; /* a process, or 0 */
};

#define SPINS 100

/* Blocks all but libc's own: a setuid waits for all threads to handle it. Returns the mask of before. */
static inline uint64_t signals_block(void)
{
    const uint64_t all = ~((uint64_t)1 << (33 - 1));
    uint64_t mask = 0;
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    return mask;
}

static inline bool lock_change(struct lock *lock, uint32_t *from, uint32_t to)
{
    return __atomic_compare_exchange_n(&lock->holder, from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline uint64_t lock_take(struct lock *lock)
{
    const struct timespec pause = {0, 20000};
    const uint32_t self = (uint32_t)SYS0(SYS_getpid);
    uint64_t mask = signals_block();
    for (int attempt = 0;; attempt++) {
        uint32_t holder = 0;
        if (lock_change(lock, &holder, self))
            break;
        if (attempt < SPINS)
            continue;
        if (holder != self && lock_change(lock, &holder, self))
            break;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return mask;
}

static inline void lock_give(struct lock *lock, uint64_t mask)
{
    __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
    sys_set_signal_mask(mask);
}

#endif
