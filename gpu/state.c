/* The lock, the totals, and whether this process is recorded.
 *
 * Thread safety: the lock protects the sums. A thread of libc's takes it with signals blocked, so that no handler of
 * the program runs inside; the interval thread only tries for a while, and otherwise leaves the sums for the next
 * interval. A forked child records nothing, whoever held the lock. Uses nothing of libc's. */
#define _GNU_SOURCE
#include "gpu.h"
#include "sys.h"

#define ATTEMPTS 2000

struct gpu_totals gpu_totals;
uint32_t gpu_version, gpu_interface;

static uint32_t lock;
static bool is_recording;

bool gpu_try_lock(unsigned attempts)
{
    for (; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0; attempts--) {
        if (attempts == 0)
            return false;
        SYS0(SYS_sched_yield);
    }
    return true;
}

void gpu_leave(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

uint64_t gpu_lock(void)
{
    uint64_t mask = sys_block_signals();
    while (!gpu_try_lock(ATTEMPTS))
        ;
    return mask;
}

void gpu_unlock(uint64_t mask)
{
    gpu_leave();
    sys_set_signal_mask(mask);
}

bool gpu_is_recording(void)
{
    return __atomic_load_n(&is_recording, __ATOMIC_RELAXED);
}

void gpu_set_recording(bool is_on)
{
    __atomic_store_n(&is_recording, is_on, __ATOMIC_RELEASE);
}
