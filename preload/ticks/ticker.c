/* Thread safety: period_ns, kernel_tick_ns and clock_source are written before the first thread. `wanted` is atomic,
 * and so is each record's wants_ticker. A thread owns its timer until it requests a ticker from the interval thread,
 * which opens, aims and closes its perf event, or creates a timer in its place. The interval thread also deletes the
 * timers of ended threads, and all at the end. `trouble` and `perf_is_refused` are words that any thread may overwrite;
 * reported_trouble belongs to the interval thread. No locks. */
#define _GNU_SOURCE
#include "ticker.h"

#include "log.h"
#include "own_signal.h"
#include "switch.h"
#include "sys.h"
#include "worker.h"

/* CPU time from the start of a thread's clock to its timer: an expiry in the past would signal at once. */
#define SETTING_NS 20000

static uint64_t period_ns, kernel_tick_ns;
static enum clock_source clock_source;
static char cookie;     /* its address marks our timers' signals */
static uint32_t wanted; /* number of threads that wait for a ticker from the interval thread */

/* A ticker that some thread could not get: reported once, by the interval thread. A thread may start in the entry stub,
 * where libc code with vector registers would overwrite the arguments of the function being entered. */
static const char *trouble, *reported_trouble;

static bool perf_is_refused;

static uint64_t random_state; /* atomic */

static void note(const char *what)
{
    __atomic_store_n(&trouble, what, __ATOMIC_RELAXED);
}

/* splitmix64, from the time of the start: the first expiry is uniform over the period, so that short threads are
 * sampled in proportion to their time. */
uint64_t ticker_random_below(uint64_t bound)
{
    uint64_t x = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % bound;
}

static uint64_t thread_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t ticker_overdue(const struct thread *thread)
{
    uint64_t cpu_ns = thread_cpu_ns();
    uint64_t due = cpu_ns < thread->first_due_ns ? 0 : (cpu_ns - thread->first_due_ns) / thread->period_ns + 1;
    return (int64_t)(due - thread->delivered);
}

/* Return when the timer is to expire first. It signals the thread at the kernel's next tick, which is uniform over the
 * thread's time if the expiry is a whole number of kernel's ticks after the start. Otherwise the ends of short threads
 * would be sampled more often than their beginnings, and most of them not at all. The main thread has no others of its
 * kind whose samples count for what it misses. */
static uint64_t first_expiry(const struct thread *thread, uint64_t now_ns)
{
    if (thread->start_pc == 0 || kernel_tick_ns == 0)
        return thread->first_due_ns;
    uint64_t after_ns = thread->first_due_ns - now_ns;
    return now_ns + after_ns - after_ns % kernel_tick_ns + SETTING_NS;
}

void ticker_begin(const struct config *config)
{
    period_ns = 1000000000u / config->rate_hz;
    clock_source = config->clock;
    random_state ^= monotonic_ns();
    kernel_tick_ns = rate_kernel_tick_ns();
    wanted = 0;
    missed_ticks_begin();
}

/* Start the perf event. The handler identifies its signals by its descriptor, which is set before the first one.
 * Returns 0 or negative errno. */
static int start_perf(struct thread *thread, int number)
{
    int fd = perf_event_open(thread->tid, thread->period_ns);
    if (fd < 0)
        return fd;
    thread->perf_tid = thread->tid;
    __atomic_store_n(&thread->perf_fd, fd, __ATOMIC_RELEASE);
    if (perf_event_start(fd, thread->tid, number))
        return 0;
    thread->perf_fd = -1;
    sys_close(fd);
    return -EINVAL;
}

/* 0 or negative errno. */
static long start_timer(struct thread *thread, int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_value.sival_ptr = &cookie;
    event._sigev_un._tid = thread->tid;
    int timer;
    long error = SYS3(SYS_timer_create, sys_thread_clock(thread->tid), &event, &timer);
    if (error != 0)
        return error;
    uint64_t first = thread->first_expiry_ns + thread->delivered * thread->period_ns;
    struct itimerspec when = {{(time_t)(thread->period_ns / 1000000000u), (long)(thread->period_ns % 1000000000u)},
                              {(time_t)(first / 1000000000u), (long)(first % 1000000000u)}};
    thread->timer = timer;
    error = SYS4(SYS_timer_settime, timer, TIMER_ABSTIME, &when, NULL);
    if (error == 0)
        return 0;
    thread->timer = -1;
    SYS1(SYS_timer_delete, timer);
    return error;
}

/* Request a ticker. A perf event is a descriptor, which the interval thread holds to leave the application's table
 * alone. */
static void request_ticker(struct thread *thread, bool wait)
{
    if (!__atomic_exchange_n(&thread->wants_ticker, true, __ATOMIC_ACQ_REL))
        __atomic_fetch_add(&wanted, 1, __ATOMIC_ACQ_REL);
    if (wait)
        worker_request(REQUEST_TICKERS, LONGEST_WAIT_NS);
    else
        worker_notify(REQUEST_TICKERS);
}

/* Return whether the error is a denial, such as by a container's system call filter; lack of memory has other
 * errors. */
static bool is_refusal(long error)
{
    return error == -EPERM || error == -EACCES || error == -ENOSYS;
}

/* Start a timer, in place of the other clock if that is not permitted. */
static void set_timer(struct thread *thread, int number)
{
    thread->tick_signal = number;
    long error = number != 0 ? start_timer(thread, number) : 0;
    if (number == 0) {
        note("the program uses SIGURG and SIGWINCH itself, as Go's run-time does: from here on no samples are taken, "
             "and "
             "only calls of functions built with -pg are counted; record it from outside: incprof record --external");
    } else if (is_refusal(error) && !__atomic_load_n(&perf_is_refused, __ATOMIC_RELAXED)) {
        note("timers are not permitted here (a container's seccomp profile?), using perf's clock");
        request_ticker(thread, false);
    } else if (is_refusal(error)) {
        note("neither timers nor perf's clock are permitted here (see incprof doctor): no samples are taken, and only "
             "calls of functions built with -pg are counted");
    } else if (error != 0) {
        note("no more timers (see ulimit -i): some threads are not sampled");
    }
}

void ticker_start_thread(struct thread *thread)
{
    thread->period_ns = period_ns;
    uint64_t now_ns = thread_cpu_ns();
    thread->first_due_ns = now_ns + 1 + ticker_random_below(period_ns);
    thread->first_expiry_ns = first_expiry(thread, now_ns);
    thread->delivered = thread->held = 0;
    thread->credit_ns = FULL_CREDIT_NS;
    int number = own_signal();
    uint64_t ours = number != 0 ? (uint64_t)1 << (number - 1) : 0;
    uint64_t inherited = 0; /* also across exec */
    SYS4(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, &inherited, sizeof ours);
    if ((inherited & ours) != 0)
        thread->hidden_signal = number;
    if (clock_source == CLOCK_CPU)
        set_timer(thread, number);
    else
        request_ticker(thread, false);
}

void ticker_move(struct thread *thread, bool wait)
{
    int number = own_signal();
    if (thread->tick_signal == number)
        return;
    if (thread->timer >= 0) {
        SYS1(SYS_timer_delete, thread->timer);
        thread->timer = -1;
        set_timer(thread, number);
    } else if (thread->perf_fd >= 0) {
        request_ticker(thread, wait);
    }
}

void ticker_pause(struct thread *thread)
{
    if (thread->timer >= 0)
        SYS1(SYS_timer_delete, thread->timer);
    thread->timer = -1;
}

void ticker_resume(struct thread *thread)
{
    if (thread->tick_signal != 0 && thread->perf_fd < 0 && !thread->wants_ticker)
        set_timer(thread, own_signal());
}

/* Open a perf event; if there are fewer descriptors than threads, the remaining threads use timers. */
static void assign_perf(struct thread *thread, int number)
{
    int error = start_perf(thread, number);
    thread->tick_signal = number;
    if (error == 0 || error == -ESRCH || thread_has_exited(thread->tid))
        return;
    if (is_refusal(error))
        __atomic_store_n(&perf_is_refused, true, __ATOMIC_RELAXED);
    note(error == -EMFILE || error == -ENFILE
             ? "no more descriptors for perf's clock (see ulimit -n), using cpu for some threads"
             : "INCPROF_CLOCK=perf is not permitted here (see kernel.perf_event_paranoid), using cpu");
    set_timer(thread, number);
}

void ticker_close_event(struct thread *thread)
{
    if (thread->perf_fd >= 0)
        sys_close(thread->perf_fd);
    thread->perf_fd = -1;
}

void ticker_park(struct thread *thread)
{
    if (thread->perf_fd < 0)
        return;
    ticker_close_event(thread);
    request_ticker(thread, false);
}

static void assign(struct thread *thread)
{
    int number = own_signal();
    if (thread->state != THREAD_LIVE)
        return;
    if (thread->perf_tid != thread->tid)
        ticker_close_event(thread); /* of the record's last thread */
    if (number == 0)
        ticker_forget_thread(thread);
    if (number == 0)
        set_timer(thread, 0);
    else if (thread->perf_fd < 0)
        assign_perf(thread, number);
    else if (perf_event_aim(thread->perf_fd, thread->tid, number))
        thread->tick_signal = number;
}

void ticker_assign(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        if (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE) == 0)
            return;
        if (!__atomic_exchange_n(&thread->wants_ticker, false, __ATOMIC_ACQ_REL))
            continue;
        __atomic_fetch_sub(&wanted, 1, __ATOMIC_ACQ_REL);
        assign(thread);
    }
}

void ticker_report_trouble(void)
{
    const char *now = __atomic_load_n(&trouble, __ATOMIC_RELAXED);
    if (now == NULL || now == reported_trouble)
        return;
    reported_trouble = now;
    log_warn(now, NULL);
}

uint32_t ticker_weight(struct thread *thread, const siginfo_t *info)
{
    uint64_t ticks = 1;
    if (thread->perf_fd < 0) {
        ticks += info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
    } else {
        /* perf reports no count, and no ticks inside the kernel, so the due ticks are computed from the CPU clock. */
        int64_t overdue = ticker_overdue(thread);
        ticks = overdue > 0 ? (uint64_t)overdue : 0;
    }
    thread->delivered += ticks;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

bool ticker_is_ours(const struct thread *thread, const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return info->si_ptr == &cookie;
    bool of_descriptor = info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
    return of_descriptor && thread != NULL && thread->perf_fd >= 0 && info->si_fd == thread->perf_fd;
}

void ticker_discard_pending(struct thread *thread, int number)
{
    const struct timespec none = {0, 0};
    uint64_t set = (uint64_t)1 << (number - 1);
    siginfo_t info;
    while (SYS4(SYS_rt_sigtimedwait, &set, &info, &none, sizeof set) == number) {
        if (ticker_is_ours(thread, &info))
            continue;
        own_signal_send_again(number, &info);
        return;
    }
}

void ticker_forget_thread(struct thread *thread)
{
    if (thread->timer >= 0)
        SYS1(SYS_timer_delete, thread->timer);
    thread->timer = -1;
    thread->tick_signal = 0;
    if ((thread->perf_fd < 0 && !thread->wants_ticker) || SYS0(SYS_gettid) != worker_tid())
        return;
    if (__atomic_exchange_n(&thread->wants_ticker, false, __ATOMIC_ACQ_REL))
        __atomic_fetch_sub(&wanted, 1, __ATOMIC_ACQ_REL);
    ticker_close_event(thread);
}
