#define _GNU_SOURCE
#include "ticker.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "log.h"
#include "sys.h"

static uint64_t period_ns;
static enum clock_source clock_source;
static char cookie; /* its address marks our timers' signals */

/* What some thread could not have: said once, by the interval thread. A thread may start in the entry stub, where code
 * of libc's that uses vector registers would spoil the arguments of the function that is being entered. */
static const char *trouble;
static bool trouble_said;

/* xorshift: the first expiry is uniform over the period, so that short threads are seen as often as they should. */
static uint64_t random_below(uint64_t bound)
{
    static uint64_t state;
    uint64_t x = __atomic_add_fetch(&state, sys_clock_ns(CLOCK_MONOTONIC) | 1, __ATOMIC_RELAXED);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % bound;
}

static uint64_t thread_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t ticker_overdue(const struct thread *thread)
{
    uint64_t cpu_ns = thread_cpu_ns();
    uint64_t due = cpu_ns < thread->first_due_ns ? 0 : (cpu_ns - thread->first_due_ns) / thread->period_ns + 1;
    return due > thread->delivered ? due - thread->delivered : 0;
}

/* A descriptor, or below 0. The kernel checks CPU-time timers at its tick only (HZ); perf's software clock keeps any
 * rate. */
static int open_perf(uint64_t every_ns)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = every_ns,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .disabled = 1};
    return (int)SYS5(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* What the kernel's coarse clocks advance by is its tick, 1 / HZ. */
static uint64_t kernel_tick_ns(void)
{
    struct timespec tick = {0, 0};
    if (SYS2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return 0;
    return (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec;
}

void ticker_choose_clock(struct config *config)
{
    uint64_t every_ns = 1000000000u / config->rate_hz;
    if (config->clock_given || every_ns >= kernel_tick_ns())
        return;
    int fd = open_perf(every_ns);
    if (fd < 0) {
        log_warn("CPU timers stop at the kernel's HZ, and perf's clock, which does not, is not permitted here (see "
                 "kernel.perf_event_paranoid): the rate will be lower than asked for",
                 NULL);
        return;
    }
    sys_close(fd);
    config->clock = CLOCK_PERF;
}

void ticker_begin(const struct config *config)
{
    period_ns = 1000000000u / config->rate_hz;
    clock_source = config->clock;
}

static bool start_perf(struct thread *thread)
{
    int fd = open_perf(thread->period_ns);
    if (fd < 0)
        return false;
    /* Out of the way of programs that count on low numbers or close them. */
    long high = SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 512);
    if (high >= 0) {
        sys_close(fd);
        fd = (int)high;
    }
    struct f_owner_ex owner = {F_OWNER_TID, thread->tid};
    thread->perf_fd = fd;
    if (SYS3(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 && SYS3(SYS_fcntl, fd, F_SETSIG, SAMPLER_SIGNAL) == 0 &&
        SYS3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && SYS3(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        return true;
    thread->perf_fd = -1;
    sys_close(fd);
    return false;
}

static bool start_timer(struct thread *thread)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLER_SIGNAL};
    event.sigev_value.sival_ptr = &cookie;
    event._sigev_un._tid = thread->tid;
    int timer;
    if (SYS3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return false;
    uint64_t first = thread->first_due_ns;
    struct itimerspec when = {{(time_t)(thread->period_ns / 1000000000u), (long)(thread->period_ns % 1000000000u)},
                              {(time_t)(first / 1000000000u), (long)(first % 1000000000u)}};
    thread->timer = timer;
    if (SYS4(SYS_timer_settime, timer, TIMER_ABSTIME, &when, NULL) == 0)
        return true;
    thread->timer = -1;
    SYS1(SYS_timer_delete, timer);
    return false;
}

void ticker_start_thread(struct thread *thread)
{
    thread->period_ns = period_ns;
    thread->first_due_ns = thread_cpu_ns() + 1 + random_below(period_ns);
    thread->delivered = 0;
    if (clock_source == CLOCK_PERF) {
        if (start_perf(thread))
            return;
        trouble = "INCPROF_CLOCK=perf is not permitted here (see kernel.perf_event_paranoid), using cpu";
        clock_source = CLOCK_CPU;
    }
    if (!start_timer(thread))
        trouble = "no more timers (see ulimit -i): some threads are not sampled";
}

void ticker_report_trouble(void)
{
    if (trouble == NULL || trouble_said)
        return;
    trouble_said = true;
    log_warn(trouble, NULL);
}

uint32_t ticker_weight(struct thread *thread, const siginfo_t *info)
{
    uint64_t ticks = 1;
    if (thread->perf_fd < 0) {
        ticks += info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
    } else {
        /* perf gives no count, and none inside the kernel: the CPU clock knows what has become due. */
        ticks = ticker_overdue(thread);
    }
    thread->delivered += ticks;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

bool ticker_is_ours(const struct thread *thread, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return info->si_ptr == &cookie;
    return info->si_code > 0 && thread != NULL && thread->perf_fd >= 0 && info->si_fd == thread->perf_fd;
}

void ticker_forget_thread(struct thread *thread)
{
    uint64_t id;
    if (thread->timer >= 0)
        SYS1(SYS_timer_delete, thread->timer);
    thread->timer = -1;
    if (thread->perf_fd < 0 || SYS0(SYS_gettid) != thread->tid)
        return;
    /* The application may have closed it, and may have got its number for a file of its own. */
    if (SYS3(SYS_ioctl, thread->perf_fd, PERF_EVENT_IOC_ID, &id) == 0)
        sys_close(thread->perf_fd);
    thread->perf_fd = -1;
}
