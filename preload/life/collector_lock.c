/* Thread safety: `given_ns` belongs to the lock's holder, and the other words are atomic. `lock` is taken by the
 * interval thread for each drain, write or request, and by a thread that forks. `is_stalled` is set by a thread that
 * has waited in vain, and cleared by the next release of the lock. */
#define _GNU_SOURCE
#include "collection.h"

#include "sys.h"
#include "worker.h"

static int lock;
static uint64_t given_ns;
static bool is_stalled; /* a wait for the lock, or for a request, has timed out */

uint64_t collector_lock_patience_ns(void)
{
    return __atomic_load_n(&is_stalled, __ATOMIC_RELAXED) ? 0 : LONGEST_WAIT_NS;
}

void collector_lock_note_stall(void)
{
    __atomic_store_n(&is_stalled, true, __ATOMIC_RELAXED);
}

bool collector_lock_acquire(uint64_t longest_ns)
{
    uint64_t deadline = monotonic_ns() + longest_ns;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        struct timespec pause = {0, 50000};
        if (monotonic_ns() >= deadline) {
            collector_lock_note_stall();
            return false;
        }
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

uint64_t collector_lock_released_ns(void)
{
    return given_ns;
}

void collector_lock_release(void)
{
    given_ns = monotonic_ns();
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&is_stalled, false, __ATOMIC_RELAXED);
}

void collector_lock_forget(void)
{
    lock = 0;
    is_stalled = false;
}
