/* Thread safety: the name and the function are written before the thread is created. `state` and `requested` are
 * futexes: a requester sets `requested` from 0 to a request (compare and swap), and only the interval thread sets it
 * back to 0; `state` belongs to that thread once it runs. No locks: a requester waits for `requested` to change, with a
 * deadline. */
#define _GNU_SOURCE
#include "worker.h"

#include <signal.h>
#include <sys/prctl.h>

#include "libc.h"
#include "log.h"
#include "output.h"
#include "spawn.h"
#include "sys.h"
#include "vfork.h"

#define SLOW_FACTOR 30u /* factor of the timeouts under Valgrind */
#define REQUEST_FOLLOW (WORKER_END - 1)

enum { STARTING, ALIVE, ENDED };

static struct spawned thread;
static uint32_t state = ENDED; /* a futex */
static uint32_t requested;     /* a futex: the request under way, or 0 */
static const char *worker_name;
static void (*run_worker)(void);
static int application_file = -1; /* a descriptor of the application */
static bool has_left_writer;      /* it was stalled; atomic */

static uint64_t deadline_after(uint64_t longest_ns)
{
    return monotonic_ns() + (spawn_is_slow() ? SLOW_FACTOR : 1) * longest_ns;
}

/* Return the number in a directory entry of /proc/self/fd, or -1. */
static int number_of(const char *name)
{
    int number = -1;
    for (; *name >= '0' && *name <= '9'; name++)
        number = (number < 0 ? 0 : number * 10) + (*name - '0');
    return number;
}

/* Close all listed descriptors, for kernels without close_range. Entries may be missed while others are closed, so
 * repeat until there are none. */
static void close_listed(int keep, int other)
{
    _Alignas(8) char entries[2048];
    bool again = true;
    while (again) {
        int directory = sys_open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY, 0);
        long got;
        again = false;
        while (directory >= 0 && (got = SYS3(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
            for (long at = 0; at < got;) {
                const struct sys_directory_entry *entry = (const void *)(entries + at);
                int fd = number_of(entry->name);
                if (fd >= 0 && fd != directory && fd != keep && fd != other) {
                    sys_close(fd);
                    again = true;
                }
                at += entry->length;
            }
        }
        if (directory >= 0)
            sys_close(directory);
    }
}

/* Close all descriptors between two. False if the kernel does not support it. */
static bool close_between(int low, int high)
{
    return high - low < 2 || SYS3(SYS_CLOSE_RANGE, low + 1, high - 1, 0) == 0;
}

/* Close the application's descriptors. 0 to 2 stay occupied, so that no message of libc goes into a file of ours. */
static void close_application_files(void)
{
    int stderr_copy = log_copy_stderr();
    int low = stderr_copy < application_file ? stderr_copy : application_file;
    int high = stderr_copy < application_file ? application_file : stderr_copy;
    if (!close_between(-1, low) || !close_between(low, high) || SYS3(SYS_CLOSE_RANGE, high + 1, UINT32_MAX, 0) != 0)
        close_listed(stderr_copy, application_file);
    SYS1(SYS_chdir, "/");
    for (int i = 0; i < 3; i++)
        sys_open("/dev/null", O_RDWR, 0);
    log_detach();
}

static int enter(void *unused)
{
    (void)unused;
    SYS5(SYS_prctl, PR_SET_NAME, worker_name, 0, 0, 0);
    close_application_files();
    __atomic_store_n(&state, ALIVE, __ATOMIC_RELEASE);
    futex_wake(&state);
    run_worker();
    bool is_last = writer_end();
    __atomic_store_n(&has_left_writer, !is_last, __ATOMIC_RELEASE);
    __atomic_store_n(&state, ENDED, __ATOMIC_RELEASE);
    worker_done();
    int code = application_exit_code();
    /* A stalled file system holds up only the writer. */
    if (!is_last && application_is_alone())
        SYS1(SYS_exit_group, code);
    return code;
}

bool worker_start(const char *name, void (*run)(void))
{
    worker_name = name;
    run_worker = run;
    vfork_begin();
    application_start();
    state = STARTING;
    uint64_t mask = sys_block_signals();
    int errno_kept = errno;
    bool made = spawn(&thread, enter);
    errno = errno_kept;
    sys_set_signal_mask(mask);
    if (!made) {
        state = ENDED;
        return false;
    }
    futex_wait(&state, STARTING, deadline_after(LONGEST_WAIT_NS));
    return true;
}

void worker_keep_file(int fd)
{
    application_file = fd;
}

bool worker_has_exited(uint64_t longest_ns)
{
    const struct timespec pause = {0, 100000};
    uint64_t deadline_ns = deadline_after(longest_ns);
    while (SYS3(SYS_tgkill, SYS0(SYS_getpid), spawn_tid(&thread), 0) != -ESRCH) {
        if (monotonic_ns() >= deadline_ns)
            return false;
        SYS2(SYS_nanosleep, &pause, NULL);
    }
    return !__atomic_load_n(&has_left_writer, __ATOMIC_ACQUIRE);
}

void worker_forget(void)
{
    spawn_forget(&thread);
    writer_forget();
    state = ENDED;
    requested = 0;
}

pid_t worker_tid(void)
{
    return spawn_tid(&thread);
}

uint64_t worker_cpu_ns(void)
{
    pid_t tid = spawn_tid(&thread);
    return (tid > 0 ? sys_clock_ns(sys_thread_clock(tid)) : 0) + writer_cpu_ns();
}

uint32_t worker_wait(uint64_t deadline_ns)
{
    for (;;) {
        futex_wait(&requested, 0, deadline_ns < application_due_ns() ? deadline_ns : application_due_ns());
        uint32_t request = __atomic_load_n(&requested, __ATOMIC_ACQUIRE);
        if (!application_continues(request == REQUEST_FOLLOW))
            return WORKER_END;
        if (request == REQUEST_FOLLOW)
            worker_done();
        else if (request != 0 || monotonic_ns() >= deadline_ns)
            return request;
    }
}

void worker_done(void)
{
    __atomic_store_n(&requested, 0, __ATOMIC_RELEASE);
    futex_wake(&requested);
}

void worker_write_regularly(uint64_t first_ns, uint64_t interval_ns, bool (*write)(uint32_t request))
{
    uint64_t deadline = first_ns;
    bool on = true;
    while (on) {
        uint32_t request = worker_wait(deadline);
        on = write(request);
        while (deadline <= monotonic_ns())
            deadline += interval_ns;
        if (request != 0)
            worker_done();
    }
}

bool worker_has_ended(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ENDED;
}

bool worker_request(uint32_t request, uint64_t longest_ns)
{
    uint64_t deadline_ns = deadline_after(longest_ns);
    uint32_t other = 0;
    while (!worker_has_ended() &&
           !__atomic_compare_exchange_n(&requested, &other, request, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (!futex_wait(&requested, other, deadline_ns))
            return false;
        other = 0;
    }
    futex_wake(&requested);
    /* The thread may have ended just before the request, and then wakes no one. */
    while (!worker_has_ended() && __atomic_load_n(&requested, __ATOMIC_ACQUIRE) == request)
        if (!futex_wait(&requested, request, deadline_ns))
            return false;
    log_write_pending();
    return true;
}

void worker_follow(uint64_t longest_ns)
{
    if (!worker_has_ended() && !vfork_is_child())
        worker_request(REQUEST_FOLLOW, longest_ns);
}

void worker_notify(uint32_t request)
{
    uint32_t none = 0;
    if (!worker_has_ended() &&
        __atomic_compare_exchange_n(&requested, &none, request, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        futex_wake(&requested);
}
