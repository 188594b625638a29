/* A lock for the slow paths. Its holder takes no signals: no handler finds it held by the thread that it interrupted.
 * Thread-safe and async-signal-safe. */
#ifndef EKG_LOCK_H
#define EKG_LOCK_H

#include <signal.h>

#include "sys.h"

struct lock {
    uint32_t held;
};

static inline uint64_t lock_take(struct lock *lock)
{
    const uint64_t all = ~(uint64_t)0;
    const struct timespec pause = {0, 20000};
    uint64_t mask = 0;
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    for (int attempt = 0; __atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE) != 0; attempt++)
        if (attempt >= 100)
            SYS2(SYS_nanosleep, &pause, NULL);
    return mask;
}

static inline void lock_give(struct lock *lock, uint64_t mask)
{
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

#endif
