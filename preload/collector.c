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
#include "recording.h"
#include "sampler.h"
#include "signal_stacks.h"
#include "sys.h"
#include "worker.h"

#define MILLISECOND 1000000u
#define LONGEST_WAIT_NS (2000u * (uint64_t)MILLISECOND)
#define SHORTEST_SCAN_NS (20u * (uint64_t)MILLISECOND)
#define LONGEST_SCAN_NS (50u * SHORTEST_SCAN_NS)

/* What the application's threads ask the interval thread for. */
enum { REQUEST_STOP = 1, REQUEST_EXEC, REQUEST_PAUSE, REQUEST_RESUME, REQUEST_SCAN, REQUEST_DRAIN };

static struct config config;
static struct launch launch;

/* Guarded by `lock`. */
static struct interval interval;
static struct recording recording;
static uint64_t run_start_ns, last_cpu_ns, last_collector_ns;
static uint64_t next_scan_ns, scan_pause_ns;
static int lock;
static bool fork_holds_lock; /* set and cleared by the lock's holder */

static int started; /* once per process image */
static int on;      /* threads are recorded */
static int paused;  /* moncontrol(0) */
static int scan_wanted;
static pid_t owner; /* the process that all this belongs to: a vfork child sees it too */

bool collector_is_on(void)
{
    return __atomic_load_n(&on, __ATOMIC_RELAXED) != 0;
}

bool collector_is_sampling(void)
{
    return collector_is_on() && __atomic_load_n(&paused, __ATOMIC_RELAXED) == 0;
}

void collector_request_scan(void)
{
    __atomic_store_n(&scan_wanted, 1, __ATOMIC_RELAXED);
    if (monotonic_ns() >= __atomic_load_n(&next_scan_ns, __ATOMIC_RELAXED))
        worker_nudge(REQUEST_SCAN);
}

void collector_request_drain(void)
{
    worker_nudge(REQUEST_DRAIN);
}

/* The interval thread holds the lock for a drain or a write. Whoever needs it in the application's time (fork does)
 * waits for so long at most: a file system that hangs must not hang the program. */
static bool acquire(uint64_t longest_ns)
{
    uint64_t deadline = monotonic_ns() + longest_ns;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        struct timespec pause = {0, 50000};
        if (monotonic_ns() >= deadline)
            return false;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

static void release(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Looking for new modules costs some 50 us: soon after something unknown was seen, ever less often if in vain. */
static void scan_if_wanted(uint64_t now_ns)
{
    if (__atomic_load_n(&scan_wanted, __ATOMIC_RELAXED) == 0 || now_ns < next_scan_ns)
        return;
    __atomic_store_n(&scan_wanted, 0, __ATOMIC_RELAXED);
    bool found = modules_scan();
    scan_pause_ns = found ? SHORTEST_SCAN_NS : 2 * scan_pause_ns;
    if (scan_pause_ns > LONGEST_SCAN_NS)
        scan_pause_ns = LONGEST_SCAN_NS;
    __atomic_store_n(&next_scan_ns, now_ns + scan_pause_ns, __ATOMIC_RELAXED);
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
    scan_if_wanted(now_ns);
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
    if (__atomic_load_n(&paused, __ATOMIC_RELAXED) == 0)
        interval_take_calls(&interval, thread);
    else
        arcs_forget(thread);
}

static void take_calls(void)
{
    for (struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        take_calls_of(thread);
}

/* Code that dlopen has brought is known by its calls before a sample falls into it. */
static void look_up_new_calls(uint64_t now_ns)
{
    for (size_t i = 0; i < interval.calls.count; i++) {
        const struct call *call = table_record(&interval.calls, i);
        uint64_t address;
        if (interval_resolve(call->self, &address) == NULL) {
            __atomic_store_n(&scan_wanted, 1, __ATOMIC_RELAXED);
            scan_if_wanted(now_ns);
            return;
        }
    }
}

/* A CPU clock of another thread, by the kernel's numbering. */
static uint64_t cpu_ns_of(pid_t tid)
{
    return tid > 0 ? sys_clock_ns((clockid_t)(~(unsigned int)tid << 3 | 6)) : 0;
}

/* Nothing can be written any more: the program goes on without us. */
static void give_up(void)
{
    __atomic_store_n(&on, 0, __ATOMIC_RELEASE);
    thread_stop_all();
}

static void close_interval(void)
{
    take_calls();
    drain();
    uint64_t now_ns = monotonic_ns();
    look_up_new_calls(now_ns);
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
    if (recording.forked || !acquire(LONGEST_WAIT_NS))
        return;
    if (collector_is_on() && !recording_open(&recording))
        give_up();
    release();
}

static void serve(uint32_t request)
{
    switch (request) {
    case REQUEST_STOP:
    case WORKER_END:
        __atomic_store_n(&on, 0, __ATOMIC_RELEASE);
        thread_stop_all();
        close_interval();
        recording_end(&recording, monotonic_ns() - run_start_ns);
        break;
    case REQUEST_EXEC: /* which may fail: nothing is stopped. A child that only calls it leaves no file. */
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
        __atomic_store_n(&paused, request == REQUEST_PAUSE, __ATOMIC_RELAXED);
        break;
    case REQUEST_SCAN:
        scan_if_wanted(monotonic_ns());
        break;
    case REQUEST_DRAIN:
        drain();
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
    while (collector_is_on()) {
        uint32_t request = worker_wait(next_drain < grid ? next_drain : grid);
        acquire(UINT64_MAX / 4);
        uint64_t now = monotonic_ns();
        if (request != 0) {
            serve(request);
        } else if (now >= grid) {
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
        if (request != 0 && collector_is_on())
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
    next_scan_ns = 0;
    recording_begin(&recording, &config, &launch, run_start_ns, forked);
    interval_begin(&interval, run_start_ns, false);
    __atomic_store_n(&on, 1, __ATOMIC_RELEASE);
}

/* No write and no drain is under way while the process is copied. */
static void fork_prepare(void)
{
    bool held = collector_is_on() && acquire(LONGEST_WAIT_NS);
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
    if (!collector_is_on())
        return;
    lock = 0;
    fork_holds_lock = false;
    on = 0;
    worker_forget();
    interval_free(&interval);
    if (!config.follow) {
        incprof_tls = (struct tls_block){.arcs = incprof_tls.arcs, .mask = incprof_tls.mask};
        return;
    }
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

void collector_start(void)
{
    if (started)
        return;
    started = 1;
    log_start("incprof");
    config_read(&config);
    if (config.disabled || !launch_identify(&launch, config.rank) || !is_wanted())
        return;
    if (!launch_claim_directory(&launch, config.directory, "gmon"))
        return;
    modules_scan();
    ticker_choose_clock(&config);
    if (!sampler_start(&config))
        return;
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    begin(false);
    hooks_start_main_thread();
    if (!worker_start("incprof", collect)) {
        give_up();
        log_warn("cannot start the interval thread, not recording", NULL);
    }
}

/* A vfork child runs in its parent's memory. */
static bool is_owner(void)
{
    return SYS0(SYS_getpid) == owner;
}

void collector_stop(void)
{
    if (is_owner())
        worker_ask(REQUEST_STOP, LONGEST_WAIT_NS);
}

void collector_before_exec(void)
{
    if (is_owner())
        worker_ask(REQUEST_EXEC, LONGEST_WAIT_NS);
}

void collector_pause(bool pause)
{
    if (is_owner())
        worker_ask(pause ? REQUEST_PAUSE : REQUEST_RESUME, LONGEST_WAIT_NS);
}
