/* The calls of appekg.h as functions, for languages that include no headers. */
#define _GNU_SOURCE
#include "appekg.h"

#include "catalogue.h"
#include "lifecycle.h"
#include "record.h"
#include "thinning.h"

void ekg_begin(uint32_t id)
{
    ekg_begin_inline_(id);
}

void ekg_end(uint32_t id)
{
    ekg_end_inline_(id);
}

void ekg_pulse(uint32_t id)
{
    ekg_pulse_inline_(id);
}

void ekg_name(uint32_t id, const char *name)
{
    catalogue_set_name(id, name);
}

void ekg_rate(uint32_t id, uint32_t factor)
{
    if (factor == 0)
        factor = 1;
    catalogue_set_factor(id, factor);
    __atomic_thread_fence(
        __ATOMIC_SEQ_CST); /* pairs with a thread that is setting up its slot: one of the two sees the other */
    slots_set_rate(id, factor - 1);
}

int ekg_cost(double *pair_ns, double *skipped_ns)
{
    struct cost cost = cost_measured();
    if (cost.pair_ps == 0 && lifecycle_while_idle(cost_measure_idle))
        cost = cost_measured();
    if (cost.pair_ps == 0) /* the interval thread has not measured yet */
        cost = cost_try();
    *pair_ns = (double)cost.pair_ps / 1e3;
    *skipped_ns = (double)cost.skipped_ps / 1e3;
    return cost.pair_ps != 0 ? 0 : -1;
}
