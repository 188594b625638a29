/* Thread safety: `config`, `launch` and `started` are written before main, or in a forked child that has one thread,
 * and only read from then on. `fork_holds_lock` belongs to the lock's holder. `is_left` is atomic.
 *
 * Locks, in the order in which they are taken: the collector's (collection.h); under it spare_lock of thread.c, which
 * is only tried, without waiting. The lock of signal_stacks.c is taken with none of these held, except in a forked
 * child, which may have inherited the first. */
#define _GNU_SOURCE
#include "collector.h"

#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "closing_line.h"
#include "collection.h"
#include "end_signals.h"
#include "fixed_text.h"
#include "libc.h"
#include "log.h"
#include "module_scan.h"
#include "own_signal.h"
#include "procio.h"
#include "sampler.h"
#include "switch.h"
#include "sys.h"
#include "thread.h"
#include "thread_life.h"
#include "ticker.h"
#include "vfork.h"
#include "worker.h"

static struct config config;
static struct launch launch;
static bool started; /* once per process image */
static enum opening opening;
static __thread bool is_of_vfork_child; /* the calling thread forks in a vfork child */
static bool fork_holds_lock;            /* set and cleared by the lock's holder */
static bool is_left;                    /* set once by the interval thread: the end is still to be reported */

/* Return whether the interval thread exists in this process. */
static bool is_recording_here(void)
{
    return !worker_has_ended() && !vfork_is_child();
}

/* Send a request to the interval thread and wait until it is done, or until the thread ends if another thread has
 * requested that: if several threads call exit at once, the first must not end the process in the middle of a write. */
static void request_worker(enum request request)
{
    if (is_recording_here() && !worker_request(request, collector_lock_patience_ns()))
        collector_lock_note_stall();
}

/* Async-signal-safe and thread-safe. */
static void write_before_end(void)
{
    request_worker(REQUEST_STOP);
}

static void begin(bool forked, const char *trouble)
{
    vfork_begin();
    is_left = false;
    ticker_begin(&config);
    dense_window_begin(&config);
    collection_begin(&config, &launch, forked, forked ? OPEN_LATE : opening);
    switch_set(SWITCH_ON);
    if (forked)
        thread_after_fork();
    else
        thread_hooks_start_main();
    if (interval_thread_start(&config)) {
        end_signals_begin(write_before_end);
    } else {
        thread_stop_all();
        log_warn(trouble, NULL);
    }
}

/* Take the lock, so that no write or drain is under way while the process is copied. */
static void fork_prepare(void)
{
    is_of_vfork_child = vfork_is_child();
    bool held = switch_is_on() && !is_of_vfork_child && collector_lock_acquire(collector_lock_patience_ns());
    if (held)
        fork_holds_lock = true;
}

static void fork_parent(void)
{
    if (fork_holds_lock) {
        fork_holds_lock = false;
        collector_lock_release();
    }
}

/* Do not record the child; restore the signal state that the application sees. */
static void disable_in_child(void)
{
    int none = 0;
    end_signals_end();
    own_signal_end(incprof_tls.self != NULL ? &incprof_tls.self->hidden_signal : &none);
    incprof_tls = (struct tls_block){.arcs = ARCS_NONE};
}

/* Start the child's own recording, from the fork on. A child of a vfork child inherits that one's signal state, which
 * is unknown. */
static void fork_child(void)
{
    signal_stacks_after_fork();
    is_left = false;
    if (!switch_is_on())
        return;
    vfork_begin();
    fork_holds_lock = false;
    collector_lock_forget();
    switch_set(SWITCH_OFF);
    worker_forget();
    collection_forget();
    if (config.follow && !is_of_vfork_child)
        begin(true, "cannot start the interval thread of a forked child, not recording it");
    else
        disable_in_child();
}

static bool is_wanted(void)
{
    if (!config_has_rank(config.ranks, launch.rank, launch.local))
        return false;
    if (launch.local < 0 && launch.rank == 0 && config.ranks != NULL && strstr(config.ranks, "per-node") != NULL)
        log_warn("the launcher's environment does not show which ranks share a node: every rank counts as the first of "
                 "its own",
                 NULL);
    if (config.exe == NULL || *config.exe == '\0')
        return true;
    return launch_is_program(config.exe, launch.exe);
}

/* Claim the run directory, and scan the program's code, before it runs. */
static bool read_all_symbols(void)
{
    if (!launch_claim_directory(&launch, config.directory, "gmon"))
        return false;
    closing_line_prepare(&config, &launch);
    modules_scan();
    config.call_ps = modules_have_counts() ? call_cost_ps() : 0;
    return true;
}

/* Make the directory absolute: with OPEN_LATE the interval thread claims it, and has another working directory. */
static bool has_absolute_directory(void)
{
    return config.directory != NULL && *config.directory == '/';
}

/* Disable the job: if the first process cannot write, and has reported that, the processes that it starts do not try
 * again. In place: neither the environment's size nor main's third argument changes. */
static void disable_job(void)
{
    char *value = getenv("INCPROF_LAUNCH");
    if (value != NULL)
        *value = '\0';
}

static bool is_job_disabled(void)
{
    const char *value = getenv("INCPROF_LAUNCH");
    return value != NULL && *value == '\0';
}

static enum opening opening_of(enum start start)
{
    if (start == START_OF_JOB)
        return OPEN_LATE;
    return start == START_CHOSEN && config.launch != NULL ? OPEN_SOON : OPEN_AT_ONCE;
}

static bool prepare(enum start start)
{
    log_start("incprof");
    config_read(&config);
    if (config.disabled || is_job_disabled() || !launch_identify(&launch, config.rank) || !is_wanted())
        return false;
    launch.job = config.launch != NULL && *config.launch != '+' ? config.launch : NULL;
    opening = opening_of(start);
    /* In gmon files, the time of libraries without -pg is charged to their callers. */
    bool libraries_too = start != START_LINKED || config.format == FORMAT_STREAM;
    modules_begin(libraries_too, config.format == FORMAT_STREAM);
    bool is_first = closing_line_take();
    bool is_deferred = opening == OPEN_LATE && !is_first && has_absolute_directory();
    if (!is_deferred && !read_all_symbols()) {
        if (is_first)
            disable_job();
        return false;
    }
    if (!sampler_start(&config))
        return false;
    rate_choose(&config);
    return true;
}

void collector_start(enum start start)
{
    if (started)
        return;
    started = true;
    uint64_t start_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!prepare(start)) {
        switch_set(SWITCH_OFF);
        return;
    }
    libc_at_fork(fork_prepare, fork_parent, fork_child);
    begin(false, "cannot start the interval thread, not recording");
    account_charge_start(sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns);
    libc_at_quick_exit(collector_stop); /* exit calls _mcleanup itself */
}

void collector_stop(void)
{
    request_worker(REQUEST_STOP);
    if (__atomic_load_n(&is_left, __ATOMIC_RELAXED) && !vfork_is_child() &&
        __atomic_exchange_n(&is_left, false, __ATOMIC_RELAXED))
        collection_report_late();
}

void collector_note_buffers(void)
{
    if (is_recording_here())
        procio_note_buffers();
}

void collector_end(const char *why)
{
    end_signals_end();
    request_worker(REQUEST_LEAVE);
    log_warn(why, NULL);
}

void collector_before_exec(const char *file, char *const envp[])
{
    if (switch_is_on())
        exec_target_report(file, envp);
    request_worker(REQUEST_EXEC);
    inherited_begin(true);
}

void collector_after_exec(void)
{
    inherited_end(true);
    if (is_recording_here())
        interval_thread_resume();
}

void collector_look_up(void)
{
    request_worker(REQUEST_LOOK_UP);
}

void collector_remap(size_t unloaded)
{
    module_scan_expect(unloaded);
    request_worker(REQUEST_REMAP);
}

void collector_pause(bool pause)
{
    request_worker(pause ? REQUEST_PAUSE : REQUEST_RESUME);
}

static bool is_only_thread(void)
{
    int count = 0;
    for (const struct thread *thread = thread_first(); thread != NULL; thread = thread->next)
        count += thread->state != THREAD_ENDED && !thread_has_exited(thread->tid);
    return count <= 1;
}

/* Reopen the file, among the application's descriptors for a moment. Returns a descriptor of at least 3, or a negative
 * one. */
static int reopen_file(void)
{
    char path[80] = "/proc/self/task/";
    if (collection_file() < 0)
        return -1;
    text_append_number(path, sizeof path, (uint64_t)worker_tid(), 1);
    text_append(path, sizeof path, "/fd/");
    text_append_number(path, sizeof path, (uint64_t)collection_file(), 1);
    int low = sys_open(path, O_WRONLY | O_APPEND, 0);
    int fd = low >= 0 ? (int)SYS3(SYS_fcntl, low, F_DUPFD_CLOEXEC, 3) : low;
    if (low >= 0)
        sys_close(low);
    return fd;
}

static struct absence {
    uint64_t mask;
    int fd;
    bool is_final;
} absence; /* of the application's only thread */

bool collector_end_thread(void)
{
    if (!is_recording_here() || !is_only_thread())
        return false;
    absence.mask = sys_block_signals();
    request_worker(REQUEST_FLUSH);
    absence.fd = reopen_file();
    request_worker(collection_file() < 0 || absence.fd >= 0 ? REQUEST_PARK : REQUEST_CLOSE);
    absence.is_final = !worker_has_exited(LONGEST_WAIT_NS) || !switch_is_on();
    return true;
}

void collector_restart_thread(void)
{
    bool is_there = !absence.is_final && (collection_file() < 0 || absence.fd >= 0);
    if (is_there) {
        worker_forget();
        worker_keep_file(absence.fd);
        collection_set_file(absence.fd);
        is_there = interval_thread_start(&config);
        worker_keep_file(-1);
    }
    if (!is_there) {
        thread_stop_all();
        __atomic_store_n(&is_left, true, __ATOMIC_RELAXED);
        if (!collection_is_blank())
            log_warn("cannot go on in another namespace, recording stops here", NULL);
    }
    if (absence.fd >= 0)
        sys_close(absence.fd);
    sys_set_signal_mask(absence.mask);
}
