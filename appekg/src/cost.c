#define _GNU_SOURCE
#include "cost.h"

#include "appekg.h"
#include "clock.h"
#include "lifecycle.h"
#include "record.h"
#include "settle.h"

#define PAIRS 512u
#define SKIPPED_PAIRS 2048u
#define BATCHES 5 /* the first one warms up, and one that was interrupted is not the shortest */

static struct cost measured; /* both or none */

struct cost cost_measured(void)
{
    return (struct cost){__atomic_load_n(&measured.pair_ps, __ATOMIC_ACQUIRE),
                         __atomic_load_n(&measured.skipped_ps, __ATOMIC_RELAXED)};
}

static void keep(struct cost cost)
{
    __atomic_store_n(&measured.skipped_ps, cost.skipped_ps, __ATOMIC_RELAXED);
    __atomic_store_n(&measured.pair_ps, cost.pair_ps, __ATOMIC_RELEASE);
}

#ifdef EKG_FAKE_CLOCK /* tests of the library: time does not pass by itself */

static struct cost measure(void)
{
    return (struct cost){0, 0};
}

#else

/* A thread's slots as ekg_find_ sees them, in a thread whose ekg_slots_ is not to be touched: the interval thread's
 * block of thread-local memory need not be as large as the program's. */
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

/* What the compiler must not know: that nothing happens in the beat. */
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

/* A slot that is in no record: nobody takes from it, and nobody revokes it. */
static struct cost measure(void)
{
    _Alignas(64) struct slot slot = {.key = ekg_key_(1, 0), .generation = 1};
    const struct probe probe = {1, (struct ekg_slot_ *)&slot};
    struct cost best = {UINT64_MAX, UINT64_MAX};
    for (int batch = 0; batch < BATCHES; batch++) {
        slot.skipping = 0;
        best.pair_ps = shorter(best.pair_ps, &probe, PAIRS);
        slot.skipping = SKIPPED_PAIRS;
        best.skipped_ps = shorter(best.skipped_ps, &probe, SKIPPED_PAIRS);
    }
    return best;
}

#endif

void cost_measure(void)
{
    if (cost_measured().pair_ps == 0)
        keep(measure());
}

/* As it is once the interval thread has chosen the path, and as it was before. */
static void measure_idle(void)
{
    clock_start(false);
    records_prepare();
    cost_measure();
    clock_start(true);
    __atomic_store_n(&record_fence, true, __ATOMIC_SEQ_CST);
    records_choose_path();
}

int ekg_cost(double *pair_ns, double *skipped_ns)
{
    struct cost cost = cost_measured();
    if (cost.pair_ps == 0 && lifecycle_while_idle(measure_idle))
        cost = cost_measured();
    if (cost.pair_ps == 0) /* the interval thread is about to */
        cost = measure();
    *pair_ns = (double)cost.pair_ps / 1e3;
    *skipped_ns = (double)cost.skipped_ps / 1e3;
    return cost.pair_ps != 0 ? 0 : -1;
}
