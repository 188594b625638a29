#define _GNU_SOURCE
#include "punctual.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "sys.h"

/* Commands that tell of power are processes like others. */
#define SCHED_RESET_ON_FORKS 1

/* Well below the time that an ordinary thread keeps a processor from others: 0.7 ms at least. */
#define LONG_NS 250000

struct wish {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* A short slice is what helps most of those that are no real-time processes (Linux 6.12). */
static void be_ordinary(uint64_t slice_ns)
{
    struct wish wish = {.size = sizeof wish, .policy = SCHED_OTHER, .flags = SCHED_RESET_ON_FORKS};
    wish.nice = getpriority(PRIO_PROCESS, 0);
    wish.runtime = slice_ns;
    SYS3(SYS_sched_setattr, 0, &wish, 0);
}

/* It works for some microseconds and should do so on time, which kernels that preempt lazily grant real-time processes
 * only. */
void punctual_ask(uint64_t interval_ns)
{
    struct wish wish = {.size = sizeof wish, .policy = SCHED_RR, .flags = SCHED_RESET_ON_FORKS, .priority = 1};
    /* Not where it might have no time to sleep. */
    if (interval_ns < 1000000 || SYS3(SYS_sched_setattr, 0, &wish, 0) != 0)
        be_ordinary(100000);
}

void punctual_end_if_long(uint64_t work_ns)
{
    static bool is_ordinary;
    if (work_ns < LONG_NS || is_ordinary)
        return;
    is_ordinary = true;
    be_ordinary(0);
}
