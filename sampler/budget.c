#include "budget.h"

/* Paid within 0.1 to 0.4 s: a few dear rows in a row are none to leave others out for. */
#define MOST_DEBT_NS 1000000

bool budget_is_spent(struct budget *budget, uint64_t now_ns)
{
    if (budget->paid_ns > 0)
        budget->debt_ns -= budget->share * (double)(now_ns - budget->paid_ns);
    budget->debt_ns = budget->debt_ns > 0 ? budget->debt_ns : 0;
    budget->paid_ns = now_ns;
    return budget->debt_ns > MOST_DEBT_NS;
}

/* A virtual machine that has lost its processor for a while counts that too: what is dear once only is not charged. */
void budget_charge(struct budget *budget, uint64_t cpu_ns)
{
    budget->usual_ns = cpu_ns < budget->last_ns ? cpu_ns : budget->last_ns;
    budget->last_ns = cpu_ns;
    if (budget->usual_ns > budget->free_ns)
        budget->debt_ns += (double)(budget->usual_ns - budget->free_ns);
}
