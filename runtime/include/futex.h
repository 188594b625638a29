/* Waiting for a word to change, by the kernel's own means: for threads that libc does not know, and with those. */
#ifndef RUNTIME_FUTEX_H
#define RUNTIME_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "libc.h"
#include "sys.h"

static inline void futex_wake(const uint32_t *word)
{
    SYS3(SYS_futex, word, FUTEX_WAKE_ONE_PROCESS, INT32_MAX);
}

/* Waits while the word holds `value`, until the deadline (CLOCK_MONOTONIC) at the latest. Whether it has changed. */
static inline bool futex_wait(const uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    const struct timespec deadline = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        if (SYS6(SYS_futex, word, FUTEX_WAIT_UNTIL, value, &deadline, NULL, FUTEX_ANY_BIT) == -ETIMEDOUT)
            return __atomic_load_n(word, __ATOMIC_ACQUIRE) != value;
    return true;
}

#endif
