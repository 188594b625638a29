/* How much CPU time a thread has taken between two moments, without a system call for each: those cost half a
 * microsecond. For stretches below CPU_CLOCK_STEP_NS, in which a thread is hardly ever taken off its processor, it is
 * the time on the clock. Not async-signal-safe; for one thread. */
#ifndef TRACE_CPU_CLOCK_H
#define TRACE_CPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sys.h"

#define CPU_CLOCK_STEP_NS 100000u

struct cpu_clock {
    uint64_t at_ns, cpu_ns; /* read last */
};

/* The moment is now. */
static inline void cpu_clock_read(struct cpu_clock *clock, uint64_t now_ns)
{
    clock->at_ns = now_ns;
    clock->cpu_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time since `since_ns`, which is the end of an MPI call; of the first call, since the thread began. */
static inline uint64_t cpu_clock_work(struct cpu_clock *clock, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    bool is_first = clock->at_ns == 0;
    if (gap_ns < CPU_CLOCK_STEP_NS && !is_first)
        return gap_ns;
    uint64_t before_ns = is_first ? 0 : clock->cpu_ns + (since_ns > clock->at_ns ? since_ns - clock->at_ns : 0);
    cpu_clock_read(clock, now_ns);
    uint64_t work_ns = clock->cpu_ns > before_ns ? clock->cpu_ns - before_ns : 0;
    return work_ns < gap_ns ? work_ns : gap_ns;
}

/* At the end of an MPI call: by what was guessed since the last reading, the next one may be wrong. */
static inline void cpu_clock_settle(struct cpu_clock *clock, uint64_t now_ns)
{
    if (now_ns - clock->at_ns >= CPU_CLOCK_STEP_NS)
        cpu_clock_read(clock, now_ns);
}

#endif
