/* Thread safety: `state` is atomic, and the thread that changes it from IDLE or FORKED to STARTING starts the session.
 * The settings, the launch and the directory are written before main; the rest by the thread that starts, before the
 * writing thread exists. No locks. */
#define _GNU_SOURCE
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "launch.h"
#include "libc.h"
#include "log.h"
#include "regions.h"
#include "sys.h"
#include "worker.h"

#define NANO 1000000000u

/* IDLE until the first parallel region; FORKED in a child until its own first one; OVER for good. */
enum state { IDLE, FORKED, STARTING, RUNNING, OVER };
enum { REQUEST_STOP = 1, REQUEST_WRITE };

static int state;
static struct settings settings;
static struct launch launch;
static char directory[PATH_MAX]; /* the requested one, absolute */
static bool joins;               /* the directory belongs to this run and need not be claimed */
static uint64_t start_ns;
static bool is_forked;
static pid_t owner;

static int get_state(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void set_state(int to)
{
    __atomic_store_n(&state, to, __ATOMIC_RELEASE);
}

static int number(const char *name, uint64_t low, uint64_t high, uint64_t fallback, const char *shown)
{
    return (int)(environment_nano(name, low * NANO, high * NANO, fallback * NANO, shown) / NANO);
}

/* Save the directory, because the program may change its own before its first parallel region. */
static bool note_directory(void)
{
    const char *given = environment_text("SELFANALYZE_DIR");
    return given == NULL || launch_name_directory(&launch, given, "selfanalyze", directory, sizeof directory);
}

static void fork_child(void);

static __attribute__((constructor)) void configure(void)
{
    log_start("incprof selfanalyze");
    environment_log_level("SELFANALYZE_LOG");
    settings.window = number("SELFANALYZE_WINDOW", 2, 2000, 1024, "1024");
    settings.interval_ns = environment_time("SELFANALYZE_INTERVAL", NANO / 100, 3600ull * NANO, NANO / 2, "0.5");
    settings.baseline_threads = number("SELFANALYZE_BASELINE", 0, 4096, 0, "0");
    settings.baseline_iterations = number("SELFANALYZE_BASELINE_ITERATIONS", 1, 1000, 5, "5");
    joins = environment_flag("SELFANALYZE_JOIN", false);
    bool off = environment_flag("SELFANALYZE_DISABLE", false);
    if (off || !launch_identify(&launch, -1) || !note_directory() || !libc_at_fork(NULL, NULL, fork_child)) {
        set_state(OVER);
        return;
    }
    baseline_configure(settings.baseline_threads, settings.baseline_iterations);
}

static bool write_data(uint32_t request)
{
    bool last = request == REQUEST_STOP || request == WORKER_END;
    bool on = lines_write(&launch, &settings, start_ns, is_forked, last) && !last;
    if (!on)
        set_state(OVER);
    return on;
}

/* The writing thread. */
static void run(void)
{
    worker_write_regularly(monotonic_ns() + settings.interval_ns, settings.interval_ns, write_data);
}

static bool have_directory(void)
{
    if (!joins || directory[0] == '\0')
        return launch_claim_directory(&launch, directory[0] != '\0' ? directory : NULL, "selfanalyze");
    strcpy(launch.directory, directory);
    return true;
}

static bool begin(bool forked)
{
    owner = (pid_t)SYS0(SYS_getpid);
    is_forked = forked;
    start_ns = monotonic_ns();
    if ((!forked && !have_directory()) || (!forked && !loops_start(settings.window)))
        return false;
    if (worker_start("selfanalyze", run))
        return true;
    log_warn("cannot start the writing thread, nothing is analysed", NULL);
    return false;
}

bool session_start(void)
{
    int now = get_state();
    while (now == IDLE || now == FORKED) {
        if (__atomic_compare_exchange_n(&state, &now, STARTING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            set_state(begin(now == FORKED) ? RUNNING : OVER);
            break;
        }
    }
    return session_is_on();
}

bool session_is_on(void)
{
    return get_state() == RUNNING;
}

/* The child gets its own file at its first parallel region. */
static void fork_child(void)
{
    if (get_state() != RUNNING)
        return;
    worker_forget();
    lines_forget();
    regions_forget();
    loops_forget();
    set_state(FORKED);
}

/* A vfork child runs in its parent's memory. */
static void request_worker(uint32_t request)
{
    if (!session_is_on() || SYS0(SYS_getpid) != owner || worker_request(request, LONGEST_WAIT_NS))
        return;
    set_state(OVER);
    log_warn("the file system does not respond, not waiting for it any more: the last loops are not written", NULL);
}

void session_stop(void)
{
    request_worker(REQUEST_STOP);
}

void session_before_exec(void)
{
    request_worker(REQUEST_WRITE);
}

static __attribute__((destructor(101))) void at_exit(void)
{
    session_stop();
}
