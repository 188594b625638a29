/* Thread safety: only the thread that starts the recording, before main. The entry stubs count in a separate table
 * meanwhile, so the measurement does not appear in the recording. */
#define _GNU_SOURCE
#include "thread_life.h"

#include "arcs.h"
#include "sys.h"
#include "thread.h"

#define CALLS 1024
/* The fastest of the trials is undisturbed. */
#define TRIALS 32

extern const char call_cost_from[], call_cost_self[];
extern void call_cost_counted(void), call_cost_plain(void);
extern void call_cost_loop(void (*function)(void), uint64_t times);

static void shorten(uint64_t *shortest, void (*function)(void))
{
    uint64_t start = sys_clock_ns(CLOCK_MONOTONIC);
    call_cost_loop(function, CALLS);
    uint64_t took = sys_clock_ns(CLOCK_MONOTONIC) - start;
    *shortest = took < *shortest ? took : *shortest;
}

uint64_t call_cost_ps(void)
{
    /* A table of one home, in which every call finds the arc. */
    static struct arc arcs[1];
    arcs[0] = (struct arc){.self = (uint64_t)call_cost_self, .from = (uint64_t)call_cost_from};
    uint64_t mask = sys_block_signals();
    struct tls_block saved = incprof_tls;
    incprof_tls.arcs = arcs;
    incprof_tls.mask = 0;
    uint64_t counted = UINT64_MAX, plain = UINT64_MAX;
    for (int trial = 0; trial < TRIALS; trial++) { /* alternating, because the processor's speed changes */
        shorten(&counted, call_cost_counted);
        shorten(&plain, call_cost_plain);
    }
    incprof_tls = saved;
    sys_set_signal_mask(mask);
    return arcs[0].count == (uint64_t)TRIALS * CALLS && counted > plain ? (counted - plain) * 1000 / CALLS : 0;
}
