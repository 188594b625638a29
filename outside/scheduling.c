#define _GNU_SOURCE
#include "rows.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "sched_attributes.h"
#include "sys.h"

/* Well below the minimum time that an ordinary thread keeps a processor: 0.7 ms. */
#define LONG_NS 250000

/* Set ordinary scheduling, with a short slice, which helps most without real-time priority. */
static void set_ordinary(uint64_t slice_ns)
{
    struct sched_attributes sched_attributes = {
        .size = sizeof sched_attributes, .policy = SCHED_OTHER, .flags = SCHED_RESET_ON_FORKS};
    sched_attributes.nice = getpriority(PRIO_PROCESS, 0);
    sched_attributes.runtime = slice_ns;
    SYS3(SYS_sched_setattr, 0, &sched_attributes, 0);
}

/* The sampler works for some microseconds and must run on time; kernels with lazy preemption guarantee that only to
 * real-time processes. */
void punctual_request(uint64_t interval_ns)
{
    struct sched_attributes sched_attributes = {
        .size = sizeof sched_attributes, .policy = SCHED_RR, .flags = SCHED_RESET_ON_FORKS, .priority = 1};
    /* Not if it might have no time to sleep. */
    if (interval_ns < 1000000 || SYS3(SYS_sched_setattr, 0, &sched_attributes, 0) != 0)
        set_ordinary(SHORT_SLICE_NS);
}

void punctual_end_if_coarse(uint64_t work_ns)
{
    static bool is_ordinary;
    if (work_ns < LONG_NS || is_ordinary)
        return;
    is_ordinary = true;
    set_ordinary(0);
}
