/* What a part of the work may cost: so much each time, and beyond that a share of all time. What has been spent, by the
 * CPU clock, is paid before more is. One thread at a time; no allocation. */
#ifndef SAMPLER_BUDGET_H
#define SAMPLER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t free_ns;
    double share;
    uint64_t last_ns, usual_ns; /* what it has cost last, and the less of the last two */
    uint64_t paid_ns;           /* until when (CLOCK_MONOTONIC) */
    double debt_ns;
};

/* Whether more is owed than may be; at a time (CLOCK_MONOTONIC), up to which it pays. */
bool budget_is_spent(struct budget *budget, uint64_t now_ns);

/* Adds what one time has cost. */
void budget_charge(struct budget *budget, uint64_t cpu_ns);

#endif
