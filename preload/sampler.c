#define _GNU_SOURCE
#include "sampler.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "collector.h"
#include "log.h"
#include "sys.h"

#define MOST_FRAMES 65536
#define ENTRY_BYTES 64 /* _start is no frame of anybody's program */

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

static uint64_t period_ns;
static enum clock_source clock_source;
static uint64_t entry_point;
static struct sigaction application_action = {.sa_handler = SIG_DFL};
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

/* How many ticks are due once the thread has used this much CPU time. */
static uint64_t ticks_due(const struct thread *thread, uint64_t cpu_ns)
{
    return cpu_ns < thread->first_due_ns ? 0 : (cpu_ns - thread->first_due_ns) / thread->period_ns + 1;
}

static void put_words(struct thread *thread, uint64_t *head, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        thread->ring[(*head)++ & (RING_WORDS - 1)] = words[i];
}

static bool ring_has_room(const struct thread *thread)
{
    uint64_t tail = __atomic_load_n(&thread->tail, __ATOMIC_ACQUIRE);
    return RING_WORDS - (thread->head - tail) >= SAMPLE_WORDS + INNER_FRAMES + OUTER_FRAMES;
}

/* The frames are in thread->inner and, beyond INNER_FRAMES, in the circular thread->outer. */
static void put_sample(struct thread *thread, const struct sample *sample, size_t frames)
{
    if (!ring_has_room(thread)) {
        thread->counters.lost++;
        return;
    }
    size_t inner = frames < INNER_FRAMES ? frames : INNER_FRAMES;
    size_t beyond = frames - inner;
    size_t outer = beyond < OUTER_FRAMES ? beyond : OUTER_FRAMES;
    uint8_t flags = sample->flags | (beyond > outer ? SAMPLE_ELIDED : 0);
    uint64_t words[SAMPLE_WORDS] = {(uint64_t)sample->weight << 32 | (uint64_t)(inner + outer) << 16 |
                                        (uint64_t)sample->kind << 8 | flags,
                                    sample->time_ns, sample->leaf_pc};
    uint64_t head = thread->head;
    put_words(thread, &head, words, SAMPLE_WORDS);
    put_words(thread, &head, thread->inner, inner);
    for (size_t i = beyond - outer; i < beyond; i++)
        put_words(thread, &head, &thread->outer[i % OUTER_FRAMES], 1);
    __atomic_store_n(&thread->head, head, __ATOMIC_RELEASE);
    if (head - __atomic_load_n(&thread->tail, __ATOMIC_RELAXED) > RING_WORDS / 2)
        collector_request_drain();
    thread->counters.samples++;
    thread->counters.ticks += sample->weight;
}

bool sampler_take(struct thread *thread, struct sample *sample)
{
    uint64_t tail = thread->tail;
    if (tail == __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE))
        return false;
    uint64_t first = thread->ring[tail++ & (RING_WORDS - 1)];
    sample->weight = (uint32_t)(first >> 32);
    sample->frame_count = (uint16_t)(first >> 16);
    sample->kind = (uint8_t)(first >> 8);
    sample->flags = (uint8_t)first;
    sample->time_ns = thread->ring[tail++ & (RING_WORDS - 1)];
    sample->leaf_pc = thread->ring[tail++ & (RING_WORDS - 1)];
    for (size_t i = 0; i < sample->frame_count; i++)
        sample->frames[i] = thread->ring[tail++ & (RING_WORDS - 1)];
    __atomic_store_n(&thread->tail, tail, __ATOMIC_RELEASE);
    return true;
}

/* A frame of the application's: code of the executable or of a library that calls mcount, but no linkage stub. */
static bool is_application(const struct cursor *cursor)
{
    const struct code_range *range = cursor->range;
    if (range == NULL || !range->module->app || cursor->pc - entry_point < ENTRY_BYTES)
        return false;
    uint64_t address = unwind_lookup_pc(cursor) - range->base;
    return address < range->module->plt_low || address >= range->module->plt_high;
}

static enum sample_kind kind_of_leaf(const struct cursor *cursor)
{
    if (cursor->range == NULL)
        return KIND_UNKNOWN;
    if (cursor->range->module->profiler)
        return KIND_PROFILER;
    return is_application(cursor) ? KIND_OWN : KIND_LIBRARY;
}

static void take_sample(struct thread *thread, const ucontext_t *context, uint32_t weight, uint64_t now_ns)
{
    struct cursor cursor;
    struct sample sample = {.time_ns = now_ns, .weight = weight};
    size_t frames = 0;
    enum unwind_result result = UNWIND_CALLER;
    unwind_start(&cursor, modules_current(), context, thread->stack_low, thread->stack_high, thread->window);
    sample.leaf_pc = cursor.pc;
    sample.kind = (uint8_t)kind_of_leaf(&cursor);
    for (size_t depth = 0; depth < MOST_FRAMES && result == UNWIND_CALLER; depth++) {
        if (is_application(&cursor)) {
            uint64_t pc = unwind_lookup_pc(&cursor);
            if (frames < INNER_FRAMES)
                thread->inner[frames] = pc;
            else
                thread->outer[(frames - INNER_FRAMES) % OUTER_FRAMES] = pc;
            frames++;
        }
        result = unwind_step(&cursor);
    }
    if (result != UNWIND_END) {
        sample.flags |= SAMPLE_BROKEN;
        thread->counters.broken++;
        if (cursor.range == NULL)
            collector_request_scan();
    }
    if (frames == 0 && sample.kind != KIND_PROFILER)
        sample.kind = KIND_UNKNOWN;
    put_sample(thread, &sample, frames);
}

/* Expirations that this signal stands for; signals of one timer that were due while it was pending are merged. */
static uint32_t weight_of(struct thread *thread, const siginfo_t *info)
{
    uint64_t ticks = 1;
    if (thread->perf_fd < 0) {
        ticks += info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
    } else {
        /* perf gives no count, and none inside the kernel: the CPU clock knows what has become due. */
        uint64_t due = ticks_due(thread, thread_cpu_ns());
        ticks = due > thread->delivered ? due - thread->delivered : 0;
    }
    thread->delivered += ticks;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action = application_action;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return; /* the default action of this signal is to do nothing */
    if ((action.sa_flags & SA_RESETHAND) != 0)
        application_action.sa_handler = SIG_DFL;
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

static bool is_ours(const struct thread *thread, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return info->si_ptr == &cookie;
    return info->si_code > 0 && thread != NULL && thread->perf_fd >= 0 && info->si_fd == thread->perf_fd;
}

/* Async-signal-safe: raw system calls and memory of the thread's own record. errno is not touched. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct thread *thread = incprof_tls.self;
    if (!is_ours(thread, info)) {
        pass_on(number, info, context);
        return;
    }
    if (thread == NULL)
        return;
    if (!collector_is_on()) {
        sampler_forget_thread(thread);
        return;
    }
    uint32_t weight = weight_of(thread, info);
    if (weight == 0 || !collector_is_sampling())
        return;
    uint64_t start_ns = monotonic_ns();
    take_sample(thread, context, weight, start_ns);
    thread->counters.handler_ns += monotonic_ns() - start_ns;
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

void sampler_choose_clock(struct config *config)
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

bool sampler_start(const struct config *config)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    period_ns = 1000000000u / config->rate_hz;
    clock_source = config->clock;
    entry_point = getauxval(AT_ENTRY);
    sigfillset(&action.sa_mask);
    if (__sigaction(SAMPLER_SIGNAL, &action, &application_action) == 0)
        return true;
    log_warn("cannot install the sampling signal's handler, not recording", NULL);
    return false;
}

void sampler_exchange_action(const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before = application_action;
    if (action != NULL)
        application_action = *action;
    if (old != NULL)
        *old = before;
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

void sampler_start_thread(struct thread *thread)
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

void sampler_report_trouble(void)
{
    if (trouble == NULL || trouble_said)
        return;
    trouble_said = true;
    log_warn(trouble, NULL);
}

/* What became due after the last expiry that the kernel noticed: for a thread shorter than a kernel tick, all. */
static void account_for_rest(struct thread *thread)
{
    uint64_t due = ticks_due(thread, thread_cpu_ns());
    sampler_forget_thread(thread);
    if (due <= thread->delivered || !collector_is_sampling())
        return;
    uint64_t start = thread->start_pc;
    const struct code_range *range = modules_find(modules_current(), start);
    bool app = range != NULL && range->module->app;
    struct sample sample = {.time_ns = monotonic_ns(),
                            .leaf_pc = start,
                            .weight = (uint32_t)(due - thread->delivered),
                            .kind = app ? KIND_OWN : KIND_UNKNOWN};
    thread->inner[0] = start;
    put_sample(thread, &sample, app ? 1 : 0);
    thread->delivered = due;
}

void sampler_end_thread(struct thread *thread)
{
    /* A signal that is still on its way must not write into the ring at the same time. */
    uint64_t all = ~(uint64_t)0;
    uint64_t old = 0;
    SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof all);
    account_for_rest(thread);
    SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof old);
}

void sampler_forget_thread(struct thread *thread)
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
