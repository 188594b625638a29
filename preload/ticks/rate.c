#define _GNU_SOURCE
#include "ticker.h"

#include "buffer.h"
#include "log.h"
#include "own_signal.h"
#include "sys.h"

#define NANO 1000000000u
/* No rate is lowered below this. */
#define USUAL_HZ 1000
/* A trial: half a millisecond alone, and as long with ticks every 100 us. The median is free of disturbances: next to
 * other busy programs, a hardware thread runs twice as fast while it has its core to itself. */
#define TRIAL_PERIOD_NS 100000
#define TRIAL_STEPS 10
#define TRIALS 15 /* an odd number */

/* It is the step of the kernel's coarse clocks. */
uint64_t rate_kernel_tick_ns(void)
{
    struct timespec tick = {0, 0};
    if (SYS2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return 0;
    return (uint64_t)tick.tv_sec * NANO + (uint64_t)tick.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Work for some 50 us, in a form that compilers do not remove. */
static void work(void)
{
    for (unsigned int i = 0; i < 50000; i++)
        __asm__ volatile("" : : "r"(i));
}

/* Return the CPU time of half a trial. */
static uint64_t half_ns(void)
{
    uint64_t start = cpu_ns();
    for (int step = 0; step < TRIAL_STEPS; step++)
        work();
    return cpu_ns() - start;
}

/* Return the CPU time that a tick costs the thread, without its handler. The thread's clock stops while another one
 * runs. */
static uint64_t tick_cost_ns(int fd)
{
    uint64_t sorted[TRIALS];
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t alone = half_ns();
        if (!perf_event_start(fd, (pid_t)SYS0(SYS_gettid), own_signal()))
            return 0;
        uint64_t ticking = half_ns();
        if (!perf_event_stop(fd))
            return 0;
        uint64_t cost = ticking > alone ? (ticking - alone) * TRIAL_PERIOD_NS / ticking : 0;
        int at = trial;
        for (; at > 0 && sorted[at - 1] > cost; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = cost;
    }
    return sorted[TRIALS / 2];
}

static void lower_rate(struct config *config, uint64_t cost_ns)
{
    uint64_t most_hz = cost_ns > 0 ? config->overhead / 100 / cost_ns : UINT64_MAX;
    if (most_hz < USUAL_HZ)
        most_hz = USUAL_HZ;
    if (config->rate_hz <= most_hz)
        return;
    struct buffer line = {0};
    buffer_text(&line, "samples cost ");
    buffer_decimal(&line, (cost_ns + 500) / 1000);
    buffer_text(&line, " us each on this machine, before processing: taking ");
    buffer_decimal(&line, most_hz);
    buffer_text(&line, " a second instead of ");
    buffer_decimal(&line, config->rate_hz);
    buffer_u8(&line, '\0');
    if (!line.failed)
        log_warn((const char *)line.data, NULL);
    buffer_free(&line);
    config->rate_hz = most_hz;
}

void rate_choose(struct config *config)
{
    bool is_fast = NANO / config->rate_hz < rate_kernel_tick_ns();
    if (config->clock_given ? config->clock != CLOCK_PERF : !is_fast)
        return;
    int fd = perf_event_open(0, TRIAL_PERIOD_NS);
    if (fd < 0) {
        if (is_fast && !config->rate_given)
            config->rate_hz =
                NANO / rate_kernel_tick_ns(); /* the default is as fast as a CPU timer, if that is slower */
        else if (!config->clock_given)
            log_warn("CPU timers stop at the kernel's HZ, and perf's clock, which does not, is not permitted here (see "
                     "kernel.perf_event_paranoid): the rate will be lower than requested",
                     NULL);
        return; /* if perf's clock was set explicitly, the first thread that cannot use it reports that */
    }
    config->clock = CLOCK_PERF;
    if (config->rate_hz > USUAL_HZ && config->overhead < (uint64_t)100 * NANO)
        lower_rate(config, tick_cost_ns(fd));
    sys_close(fd);
}
