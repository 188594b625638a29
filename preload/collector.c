#define _GNU_SOURCE
#include "collector.h"

#include <fnmatch.h>
#include <pthread.h>
#include <unistd.h>

#include "arcs.h"
#include "hooks.h"
#include "interval.h"
#include "launch.h"
#include "log.h"
#include "rate.h"
#include "recording.h"
#include "sampler.h"
#include "signal_stacks.h"
#include "switch.h"
#include "sys.h"
#include "ticker.h"
#include "worker.h"

#define MILLISECOND 1000000u
#define SHORTEST_SCAN_NS (20u * (uint64_t)MILLISECOND)
#define LONGEST_SCAN_NS (50u * SHORTEST_SCAN_NS)

static struct config config;
static struct launch launch;

/* Guarded by `lock`. */
static struct interval interval;
static struct recording recording;
static uint64_t run_start_ns, last_cpu_ns, last_collector_ns;
static uint64_t scan_pause_ns;
static bool is_paused; /* moncontrol(0) */
static int lock;
static bool fork_holds_lock; /* set and cleared by the lock's holder */
static bool is_stalled;      /* somebody has waited for the lock, or for an answer, in vain */

static bool is_leaving; /* exec is under way: what is written until then stands, and its end */

static bool started; /* once per process image */
static pid_t owner;  /* the process that all this belongs to: a vfork child runs in its parent's memory */

/* The interval thread holds the lock for a drain or a write. Whoever needs it in the application's time (fork does)
 * waits for so long at most: a file system that hangs must not hang the program, and makes it wait once only. */
static uint64_t longest_wait_ns(void)
{
    return __atomic_load_n(&is_stalled, __ATOMIC_RELAXED) ? 0 : LONGEST_WAIT_NS;
}

static bool acquire(uint64_t longest_ns)
{
    uint64_t deadline = monotonic_ns() + longest_ns;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        struct timespec pause = {0, 50000};
        if (monotonic_ns() >= deadline) {
            __atomic_store_n(&is_stalled, true, __ATOMIC_RELAXED);
            return false;
        }
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

static void release(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&is_stalled, false, __ATOMIC_RELAXED);
}

/* Whether the interval thread is there, and this process's. A system call only if it is: the program may have forbidden
 * itself all of them when the recording ended (sandbox.c). */
static bool is_under_way(void)
{
    return !worker_has_ended() && SYS0(SYS_getpid) == owner;
}

/* Has the interval thread do something, and waits for it; or for its end, where another thread has asked for that: of
 * several threads that call exit at once, the first to end the process must not do so in the middle of a write. */
static void ask(enum request request)
{
    if (is_under_way() && !worker_ask(request, longest_wait_ns()))
        __atomic_store_n(&is_stalled, true, __ATOMIC_RELAXED);
}

/* Looking for new modules costs some 50 us: soon after something unknown was seen, ever less often if in vain. */
static void scan_if_wanted(void)
{
    if (!switch_scan_is_wanted())
        return;
    bool found = modules_scan();
    scan_pause_ns = found ? SHORTEST_SCAN_NS : 2 * scan_pause_ns;
    if (scan_pause_ns > LONGEST_SCAN_NS)
        scan_pause_ns = LONGEST_SCAN_NS;
    switch_scan_done(monotonic_ns() + scan_pause_ns);
}

/* Wall time for which the thread existed and that has not been reported yet. */
static uint64_t life_ns(struct thread *thread, uint64_t now_ns)
{
    bool exiting = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == THREAD_EXITING;
    uint64_t until = exiting && thread->exit_ns < now_ns ? thread->exit_ns : now_ns;
    uint64_t life = until > thread->counted_ns ? until - thread->counted_ns : 0;
    thread->counted_ns += life;
    return life;
}

/* Empties the rings. Records of threads that have ended are free again after it. */
static void drain(void)
{
    uint64_t now_ns = monotonic_ns();
    scan_if_wanted();
    ticker_give();
    ticker_report_trouble();
    interval.threads = 0;
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next) {
        interval.thread_ns += life_ns(thread, now_ns);
        interval.threads += thread->state == THREAD_LIVE;
        interval_take_thread(&interval, thread);
    }
}

/* Calls made while moncontrol(3) had switched counting off are not kept. */
static void take_calls_of(struct thread *thread)
{
    if (is_paused)
        arcs_forget(thread);
    else
        interval_take_calls(&interval, thread);
}

static void take_calls(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        take_calls_of(thread);
}

/* Code that dlopen has brought is known by its calls before a sample falls into it. */
static void look_up_new_calls(void)
{
    for (size_t i = 0; i < interval.calls.count; i++) {
        const struct call *call = table_record(&interval.calls, i);
        uint64_t address;
        if (interval_resolve(call->self, &address) == NULL) {
            switch_request_scan();
            scan_if_wanted();
            return;
        }
    }
}

static uint64_t cpu_ns_of(pid_t tid)
{
    return tid > 0 ? sys_clock_ns(ticker_cpu_clock(tid)) : 0;
}

/* Nothing can be written any more: the program goes on without us. */
static void give_up(void)
{
    switch_set(SWITCH_OFF);
    thread_stop_all();
}

static void close_interval(void)
{
    take_calls();
    drain();
    uint64_t now_ns = monotonic_ns();
    look_up_new_calls();
    uint64_t cpu_ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t collector_ns = cpu_ns_of(worker_tid());
    const struct interval_record record = {
        .start_ns = interval.start_ns - run_start_ns,
        .end_ns = now_ns - run_start_ns,
        .cpu_ns = cpu_ns - last_cpu_ns,
        .thread_ns = interval.thread_ns,
        .collector_ns = collector_ns > last_collector_ns ? collector_ns - last_collector_ns : 0,
        .handler_ns = interval.totals.handler_ns,
        .samples = interval.totals.samples,
        .ticks = interval.totals.ticks,
        .profiler_ticks = interval.profiler_ticks,
        .lost = interval.totals.lost,
        .broken = interval.totals.broken,
        .threads = interval.threads,
        .skipped = interval.totals.skipped,
        .shortened = interval.shortened,
    };
    if (!recording_interval(&recording, &interval, &record))
        give_up();
    interval.number += recording.open;
    interval_begin(&interval, now_ns, config.format == FORMAT_GMON);
    last_cpu_ns = cpu_ns;
    last_collector_ns = collector_ns;
    thread_reap(true, take_calls_of);
}

/* Rings are emptied often enough to hold what comes between: some 50 samples of each thread. */
static uint64_t drain_period_ns(void)
{
    uint64_t period = 50u * (1000000000u / config.rate_hz);
    if (period > 100 * MILLISECOND)
        period = 100 * MILLISECOND;
    return period < config.interval_ns ? period : config.interval_ns;
}

/* The copies of the symbols take a while: better now than at the end. A forked child waits for something to say. */
static void open_early(void)
{
    if (recording.forked || !acquire(UINT64_MAX / 4))
        return;
    if (switch_is_on() && !recording_open(&recording))
        give_up();
    release();
}

static void serve(uint32_t request)
{
    switch (request) {
    case REQUEST_STOP:
    case WORKER_END:
        switch_set(SWITCH_OFF);
        thread_stop_all();
        close_interval();
        recording_end(&recording, monotonic_ns() - run_start_ns);
        break;
    case REQUEST_EXEC: /* which may fail: nothing is stopped. A child that only calls it leaves no file. */
        __atomic_store_n(&is_leaving, true, __ATOMIC_RELAXED);
        drain();
        if (recording.forked && !recording.open && interval.totals.samples == 0)
            break;
        close_interval();
        recording_end(&recording, monotonic_ns() - run_start_ns);
        break;
    case REQUEST_PAUSE:
    case REQUEST_RESUME:
        drain();
        take_calls();
        is_paused = request == REQUEST_PAUSE;
        switch_pause(is_paused);
        break;
    case REQUEST_SCAN:
        scan_if_wanted();
        break;
    case REQUEST_DRAIN:
        drain();
        break;
    case REQUEST_TICKERS:
        ticker_give();
        break;
    default:
        break;
    }
}

/* The interval thread. Deadlines lie on a grid: when the machine was asleep, or too busy, what is past is skipped. */
static void collect(void)
{
    uint64_t grid = run_start_ns + config.interval_ns;
    uint64_t next_drain = run_start_ns + drain_period_ns();
    open_early();
    while (switch_is_on()) {
        ticker_give(); /* whoever asked while another request was under way was not heard */
        uint32_t request = worker_wait(next_drain < grid ? next_drain : grid);
        acquire(UINT64_MAX / 4);
        uint64_t now = monotonic_ns();
        if (request != 0) {
            serve(request);
        } else if (now >= grid) {
            if (!__atomic_load_n(&is_leaving, __ATOMIC_RELAXED))
                close_interval();
            while (grid <= monotonic_ns())
                grid += config.interval_ns;
            next_drain = now + drain_period_ns();
        } else if (now >= next_drain) {
            drain();
            thread_reap(false, take_calls_of);
            next_drain = now + drain_period_ns();
        }
        release();
        if (request != 0 && switch_is_on())
            worker_done();
    }
}

static void begin(bool forked)
{
    owner = (pid_t)SYS0(SYS_getpid);
    run_start_ns = monotonic_ns();
    last_cpu_ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    last_collector_ns = 0;
    scan_pause_ns = SHORTEST_SCAN_NS;
    switch_scan_done(0);
    recording_begin(&recording, &config, &launch, run_start_ns, forked);
    interval_begin(&interval, run_start_ns, false);
    switch_set(SWITCH_ON);
}

/* No write and no drain is under way while the process is copied. */
static void fork_prepare(void)
{
    bool held = switch_is_on() && acquire(longest_wait_ns());
    if (held)
        fork_holds_lock = true;
}

static void fork_parent(void)
{
    if (fork_holds_lock) {
        fork_holds_lock = false;
        release();
    }
}

/* The child is a process of its own: its file holds what it does from here on. */
static void fork_child(void)
{
    signal_stacks_after_fork();
    if (!switch_is_on())
        return;
    lock = 0;
    fork_holds_lock = is_stalled = is_leaving = false;
    switch_set(SWITCH_OFF);
    worker_forget();
    interval_free(&interval);
    if (!config.follow) {
        incprof_tls = (struct tls_block){.arcs = NULL};
        return;
    }
    ticker_begin(&config);
    begin(true);
    thread_after_fork();
    if (!worker_start("incprof", collect)) {
        give_up();
        log_warn("cannot start the interval thread of a forked child, not recording it", NULL);
    }
}

static bool is_wanted(void)
{
    if (!config_has_rank(config.ranks, launch.rank))
        return false;
    if (config.exe == NULL || *config.exe == '\0')
        return true;
    return fnmatch(config.exe, launch.exe, 0) == 0 || fnmatch(config.exe, launch_basename(launch.exe), 0) == 0;
}

static bool prepare(void)
{
    log_start("incprof");
    config_read(&config);
    if (config.disabled || !launch_identify(&launch, config.rank) || !is_wanted() ||
        !launch_claim_directory(&launch, config.directory, "gmon"))
        return false;
    modules_scan();
    if (!sampler_start())
        return false;
    rate_choose(&config);
    ticker_begin(&config);
    return true;
}

void collector_start(void)
{
    if (started)
        return;
    started = true;
    if (!prepare()) {
        switch_set(SWITCH_OFF);
        return;
    }
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    begin(false);
    hooks_start_main_thread();
    if (!worker_start("incprof", collect)) {
        give_up();
        log_warn("cannot start the interval thread, not recording", NULL);
    }
}

void collector_stop(void)
{
    ask(REQUEST_STOP);
}

void collector_end(const char *why)
{
    ask(REQUEST_STOP);
    log_warn(why, NULL);
}

void collector_before_exec(void)
{
    ask(REQUEST_EXEC);
}

void collector_after_exec(void)
{
    if (is_under_way())
        __atomic_store_n(&is_leaving, false, __ATOMIC_RELAXED);
}

void collector_pause(bool pause)
{
    ask(pause ? REQUEST_PAUSE : REQUEST_RESUME);
}
