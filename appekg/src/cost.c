/* Thread safety: `measured` is written by the interval thread, or with the first beat kept waiting
 * (lifecycle_while_idle), and read by any: pair_ps is written last (release), after the others. */
#define _GNU_SOURCE
#include "thinning.h"

#include "appekg.h"
#include "clock.h"
#include "quiescence.h"
#include "record.h"

#define PAIRS (THINNING_TURNS - 1) /* so few that the account, which needs a record, is never settled */
#define SKIPPED_PAIRS 2048u
#define BATCHES 8 /* the first one warms up, and an interrupted one is not the shortest */

static struct cost measured; /* all or nothing */

struct cost cost_measured(void)
{
    const uint64_t pair_ps = __atomic_load_n(&measured.pair_ps, __ATOMIC_ACQUIRE);
    if (pair_ps == 0)
        return (struct cost){.pair_ps = 0};
    return (struct cost){pair_ps, measured.skipped_ps, measured.ticks_per_ns}; /* they do not change any more */
}

static void keep(struct cost cost)
{
    measured.skipped_ps = cost.skipped_ps;
    measured.ticks_per_ns = cost.ticks_per_ns;
    __atomic_store_n(&measured.pair_ps, cost.pair_ps, __ATOMIC_RELEASE);
}

#ifdef EKG_FAKE_CLOCK /* tests of the library control the time */

uint64_t ekg_fake_pair_ps, ekg_fake_skipped_ps;

struct cost cost_try(void)
{
    return (struct cost){ekg_fake_pair_ps, ekg_fake_skipped_ps, 1};
}

#else

/* A thread's slots as used by ekg_find_, for a thread whose ekg_slots_ must not be accessed: the interval thread's
 * thread-local block may be smaller than the program's. */
struct probe {
    uint32_t on;
    struct ekg_slot_ *slots;
};

static inline struct ekg_slot_ *find(const struct probe *probe)
{
    const uint32_t on = __atomic_load_n(&probe->on, __ATOMIC_RELAXED);
    struct ekg_slot_ *slot = __atomic_load_n(&probe->slots, __ATOMIC_RELAXED);
    return slot != NULL && __atomic_load_n(&slot->key, __ATOMIC_RELAXED) == ekg_key_(on, 0) ? slot : NULL;
}

/* Hides from the compiler that the beat is empty. */
#define SOMETHING() __asm__ volatile("" : : : "memory")

static __attribute__((noinline)) void beat(const struct probe *probe, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        struct ekg_slot_ *slot = find(probe);
        if (slot != NULL)
            ekg_begin_found_(slot);
        SOMETHING();
        slot = find(probe);
        if (slot != NULL)
            ekg_end_found_(slot);
        SOMETHING();
    }
}

static uint64_t shorter(uint64_t shortest, const struct probe *probe, uint32_t times)
{
    uint64_t start_ns = monotonic_ns();
    beat(probe, times);
    uint64_t each_ps = (monotonic_ns() - start_ns) * 1000 / times;
    return each_ps < shortest ? each_ps : shortest;
}

/* The slot is in no record, so no other thread takes from it or revokes it; without a generation, its beats are no
 * ranges of NVTX. */
struct cost cost_try(void)
{
    _Alignas(64) struct slot slot = {.key = ekg_key_(1, 0)};
    const struct probe probe = {1, (struct ekg_slot_ *)&slot};
    struct cost best = {UINT64_MAX, UINT64_MAX, 0};
    const struct moment first = clock_moment();
    for (int batch = 0; batch < BATCHES; batch++) {
        slot.skipping = slot.banks[0].count = slot.banks[1].count = 0;
        best.pair_ps = shorter(best.pair_ps, &probe, PAIRS);
        slot.skipping = SKIPPED_PAIRS;
        best.skipped_ps = shorter(best.skipped_ps, &probe, SKIPPED_PAIRS);
    }
    const struct moment last = clock_moment();
    if (last.ns > first.ns)
        best.ticks_per_ns = (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns);
    return best;
}

#endif

void cost_measure(void)
{
    if (cost_measured().pair_ps == 0)
        keep(cost_try());
}

/* Measure with the path that the interval thread will choose, then restore the current one. */
void cost_measure_idle(void)
{
    clock_start(false);
    quiescence_prepare();
    cost_measure();
    clock_start(true);
    __atomic_store_n(&quiescence_needs_fence, true, __ATOMIC_SEQ_CST);
    quiescence_choose_path();
}
