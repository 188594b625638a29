/* Thread safety: quiescence_needs_fence is atomic. It is cleared once the kernel has registered the process for its
 * barriers (by the interval thread, or before there is a second one), set again by a thread that finds the barriers
 * unavailable, and read by all owners. ekg_shared_.mode changes by atomic operations. No locks: the caller takes
 * slots_lock where necessary. */
#define _GNU_SOURCE
#include "quiescence.h"

#include <sys/stat.h>

#include "clock.h"
#include "libc.h"
#include "nvtx_ranges.h"
#include "sys.h"

#define STORES_BECOME_VISIBLE_NS 10000000

/* Until the interval thread has registered for the kernel's barriers. */
bool quiescence_needs_fence = true;

static bool owners_must_fence(void)
{
    return __atomic_load_n(&quiescence_needs_fence, __ATOMIC_SEQ_CST);
}

void quiescence_choose_path(void)
{
    if (owners_must_fence() || !__atomic_load_n(&clock_is_counter, __ATOMIC_RELAXED))
        __atomic_or_fetch(&ekg_shared_.mode, EKG_CAREFUL_, __ATOMIC_SEQ_CST);
    else
        __atomic_and_fetch(&ekg_shared_.mode, ~EKG_CAREFUL_, __ATOMIC_SEQ_CST);
}

uint32_t quiescence_switch_banks(void)
{
    return (__atomic_fetch_xor(&ekg_shared_.mode, MODE_BANK, __ATOMIC_SEQ_CST) & MODE_BANK) != 0;
}

void quiescence_prepare(void)
{
    if (!nvtx_ranges_are_on() && SYS3(SYS_membarrier, MEMBARRIER_REGISTER_EXPEDITED, 0, 0) == 0)
        __atomic_store_n(&quiescence_needs_fence, false, __ATOMIC_RELAXED);
    quiescence_choose_path();
}

/* Return whether there is only one thread. The link count of /proc/self/task includes itself, its parent, and each
 * thread's directory. */
static bool is_only_thread(void)
{
    struct stat tasks;
    return SYS4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

void quiescence_prepare_early(void)
{
    if (is_only_thread())
        quiescence_prepare();
}

/* Continue without barriers, which the program has forbidden by a system call filter. From now on the owners use
 * fences; earlier stores become visible in much less time than that takes. */
static void go_without(void)
{
    const struct timespec pause = {0, STORES_BECOME_VISIBLE_NS};
    __atomic_store_n(&quiescence_needs_fence, true, __ATOMIC_SEQ_CST);
    quiescence_choose_path();
    SYS2(SYS_nanosleep, &pause, NULL);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void quiescence_barrier(void)
{
    bool fenced;
    do {
        fenced = owners_must_fence();
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (SYS3(SYS_membarrier, MEMBARRIER_EXPEDITED, 0, 0) == 0 || (fenced && owners_must_fence()))
            return;
    } while (fenced); /* the interval thread has just registered for barriers */
    go_without();
}

static bool is_inside(const struct slot *slot)
{
    return (__atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE) & SLOT_INSIDE) != 0;
}

/* Return whether the owner leaves in time. Outside once suffices: if it enters again, it has seen the change. */
static bool wait_until_left(const struct slot *slot, uint64_t deadline_ns)
{
    struct timespec pause = {0, 20000};
    for (int attempt = 0; attempt < 100; attempt++)
        if (!is_inside(slot))
            return true;
    while (monotonic_ns() < deadline_ns) {
        SYS2(SYS_nanosleep, &pause, NULL);
        if (!is_inside(slot))
            return true;
        if (pause.tv_nsec < 1000000)
            pause.tv_nsec *= 2;
    }
    return false;
}

bool quiescence_await(struct record *record, const struct slot *slot, uint64_t deadline_ns)
{
    bool waits = !__atomic_load_n(&record->in_doubt, __ATOMIC_RELAXED);
    bool quiescent = wait_until_left(slot, waits ? deadline_ns : 0);
    if (waits || quiescent)
        __atomic_store_n(&record->in_doubt, !quiescent, __ATOMIC_RELAXED);
    return quiescent;
}
